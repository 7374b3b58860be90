/**
 * Owns what is read of the messages that a chat page posts: what its person said last, and what they answered. The
 * rest of the history is the store's to tell.
 */
import type { UiMessageInput } from '../agent/ui-message-input.ts';
import { approvalIdOf, type Stop, stopIn } from '../conversation/approval-id.ts';
import { isToolPart, type UiPart } from '../conversation/ui-parts.ts';
import type { Json } from '../core/json.ts';
import { questionsIn, type ShownCall, shownCalls } from './chat-shown.ts';
import { anything, type Fields, id, invalid, isObject, oneOf, required } from './field.ts';
import type { Accepted } from './parts.ts';
import { startFields } from './start-options.ts';

export function chatFields(accept: Accepted): Fields {
  return {
    ...startFields(accept),
    // The page's whole history: what of it is not read may be anything.
    messages: required(anything),
    id: required(id),
    trigger: oneOf('submit-message', 'regenerate-message'),
    messageId: id,
  };
}

/** What a person answered at a stop. */
export interface Answer extends Stop {
  /** Said by what: the buttons of an approval, or the output of a call that asks. */
  readonly to: 'approval' | 'output';
  readonly verdict: 'approve' | 'decline' | 'resume';
  readonly reason?: string;
  readonly data?: Json;
}

export interface Posted {
  /** The newest message, where it is the person's. */
  readonly said: UiMessageInput | undefined;
  readonly answers: readonly Answer[];
  /** The calls that the page shows. Nothing is decided by them. */
  readonly calls: ReadonlyMap<string, ShownCall>;
}

interface PageMessage {
  readonly id?: string;
  readonly role: string;
  readonly parts: readonly UiPart[];
}

/** @throws `invalid-request`. */
export function postedIn({ messages, messageId }: Readonly<Record<string, unknown>>): Posted {
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) {
    throw invalid('body', ['messages: must be UIMessages { id, role, parts }, and at least one']);
  }
  const list: readonly PageMessage[] = messages;
  const named = list.find(({ id, role }) => role === 'assistant' && id === messageId);
  const last = list.at(-1);
  const answered = named ?? list.findLast(({ role }) => role === 'assistant');
  const parts = answered?.parts ?? [];
  return {
    said: named === undefined && last?.role === 'user' ? saidIn(last) : undefined,
    answers: answersIn(parts),
    calls: shownCalls(parts),
  };
}

function isMessage(message: unknown): message is PageMessage {
  return (
    isObject(message) &&
    typeof message.role === 'string' &&
    Array.isArray(message.parts) &&
    message.parts.every((part) => isObject(part) && typeof part.type === 'string')
  );
}

function saidIn({ id: messageId, parts }: PageMessage): UiMessageInput {
  const wrong = messageId === undefined ? undefined : id.problem(messageId);
  if (wrong) throw invalid('body', [`messages.id: ${wrong}`]);
  const said = parts.flatMap(({ type, text, mediaType, url, filename }): UiPart[] => {
    if (type === 'text' && typeof text === 'string') return [{ type, text }];
    if (type !== 'file' || typeof mediaType !== 'string' || typeof url !== 'string') return [];
    return [{ type, mediaType, url, ...(typeof filename === 'string' ? { filename } : {}) }];
  });
  if (said.length === 0) throw invalid('body', ['messages.parts: must have a text or a file']);
  return { role: 'user', parts: said as never, ...(messageId === undefined ? {} : { id: messageId }) };
}

/** One for each stop: the first. */
function answersIn(parts: readonly UiPart[]): Answer[] {
  const questions = questionsIn(parts);
  const answers = new Map<string, Answer>();
  for (const answer of parts.flatMap((part) => answerIn(part, questions))) {
    const stop = approvalIdOf(answer);
    if (!answers.has(stop)) answers.set(stop, answer);
  }
  return [...answers.values()];
}

function answerIn(part: UiPart, questions: ReadonlyMap<string, string>): Answer[] {
  if (!isToolPart(part)) return [];
  const { state, toolCallId, output, errorText } = part;
  if (state === 'approval-responded') return approvalIn(part);
  if (state !== 'output-available' && state !== 'output-error') return [];
  // A call that asks is answered with its output, at the stop that the question stands beside it for.
  const at = stopOf(questions.get(String(toolCallId)));
  if (at === undefined) return [];
  if (state === 'output-available') return [{ ...at, to: 'output', verdict: 'resume', data: output ?? null }];
  const reason = typeof errorText === 'string' ? { reason: errorText } : {};
  return [{ ...at, to: 'output', verdict: 'decline', ...reason }];
}

function approvalIn({ approval }: UiPart): Answer[] {
  const { id: approvalId, approved, reason } = isObject(approval) ? approval : {};
  const at = stopOf(approvalId);
  const isReason = reason === undefined || reason === null || typeof reason === 'string';
  if (at === undefined || typeof approved !== 'boolean' || !isReason) {
    throw invalid('body', [
      'messages.approval: must be { id, approved, reason? }: the id of the request, true or false, a text',
    ]);
  }
  const said = typeof reason === 'string' ? { reason } : {};
  return [{ ...at, to: 'approval', verdict: approved ? 'approve' : 'decline', ...said }];
}

function stopOf(approvalId: unknown): Stop | undefined {
  const at = stopIn(approvalId);
  return at && id.problem(at.runId) === undefined ? at : undefined;
}
