/**
 * Owns what a model is told of a thread: messages of a chat page as messages of a prompt that every provider takes.
 * Each call has exactly one result; one that still waits has a result that says so (invariant 6).
 */
import type { JsonObject } from '../core/json.ts';
import { toJson } from '../core/json.ts';
import type { Message, ModelOutput } from '../core/message.ts';
import { modelMessagesFromUi } from '../models/ai-sdk.ts';
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { acceptable, cancelledText, declinedText } from '../models/prompt.ts';
import { isObject, isToolPart, notesOf, toolNameOf, type UiPart, withDelegated } from './ui-parts.ts';

/** What is known of the calls while messages are converted, by the id that they have in the prompt. */
interface Calls {
  readonly taken: Set<string>;
  /** What the model reads where it is not what the page shows. */
  readonly outputs: Map<string, ModelOutput>;
  /** Calls that the provider asks about itself: their questions and answers stay. */
  readonly askedByProvider: Set<string>;
}

/**
 * The messages of a prompt.
 * @param taken ids of calls that the rest of the prompt uses: a call here that has one of them gets another.
 */
export async function promptFrom(
  messages: readonly UIMessage[],
  taken: Iterable<string> = [],
): Promise<Message[]> {
  if (messages.length === 0) return [];
  const calls: Calls = { taken: new Set(taken), outputs: new Map(), askedByProvider: new Set() };
  const prompt: Message[] = [];
  let others: UIMessage[] = [];
  const convertOthers = async (): Promise<void> => {
    const converted = await modelMessagesFromUi(others);
    prompt.push(...converted.flatMap((message) => finish(message as unknown as Message, calls)));
    others = [];
  };
  for (const message of messages) {
    const plain = plainMessage(message);
    if (plain === undefined) others.push(...prepare(message, calls));
    else {
      if (others.length > 0) await convertOthers();
      prompt.push(plain);
    }
  }
  if (others.length > 0) await convertOthers();
  return prompt;
}

function prepare(message: UIMessage, calls: Calls): UIMessage[] {
  if (message.role === 'system') return [];
  const given = withDelegated(message.parts as unknown as readonly UiPart[]);
  const parts = given.flatMap((part) =>
    isToolPart(part) ? prepareCall(part, given, calls) : prepareContent(part),
  );
  return [{ ...message, parts: parts as unknown as UIMessage['parts'] }];
}

/** Most messages are texts of one step, and histories are long: what the library makes of them, without its passes. */
function plainMessage({ role, parts }: UIMessage): Message | undefined {
  if (role === 'system') return undefined;
  const content: JsonObject[] = [];
  for (const [index, part] of parts.entries()) {
    if (index === 0 && part.type === 'step-start' && role === 'assistant') continue;
    if (part.type !== 'text' || !part.text || part.providerMetadata !== undefined) return undefined;
    content.push({ type: 'text', text: part.text });
  }
  return content.length > 0 ? { role, content } : undefined;
}

function prepareContent(part: UiPart): UiPart[] {
  if (part.type === 'text' && part.text === '' && part.providerMetadata === undefined) return [];
  const isFile = part.type === 'file' || part.type === 'reasoning-file';
  if (isFile && part.providerReference === undefined && !URL.canParse(String(part.url))) return [];
  return [part];
}

function prepareCall(part: UiPart, siblings: readonly UiPart[], calls: Calls): UiPart[] {
  const { state } = part;
  if (state === 'input-streaming') return [];
  const { raw, modelOutput, approvalId, isBelow } = notesOf(part);
  if (isBelow) return [];
  const toolCallId = uniqueId(String(part.toolCallId), calls.taken);
  const written = raw ?? part.input;
  const { approval, toolMetadata: _notes, toolName: _name, dynamic: _dynamic, ...kept } = part;
  const input = isObject(written) ? written : {};
  if (part.providerExecuted === true && approvalId === undefined) {
    // What a provider asked elsewhere, and nobody answered.
    return state === 'approval-requested' ? [] : [{ ...kept, toolCallId, input }];
  }
  if (approvalId !== undefined) {
    const decided = isObject(approval) && typeof approval.approved === 'boolean' ? approval : undefined;
    if (!decided) return [{ type: 'text', text: `(${toolNameOf(part)}) ${waitingText(part, siblings)}` }];
    calls.askedByProvider.add(toolCallId);
    const { approved, reason } = decided;
    const answer = {
      id: approvalId,
      approved: approved ?? false,
      ...(reason === undefined ? {} : { reason }),
    };
    return [{ ...kept, toolCallId, input, state: 'approval-responded', approval: answer }];
  }
  const output = modelOutput ?? outputOf(part, siblings);
  if (output) calls.outputs.set(toolCallId, output);
  const shown = output ? null : (part.output ?? null);
  const settled: JsonObject = state === 'output-error' ? {} : { state: 'output-available', output: shown };
  return [{ ...kept, type: `tool-${acceptable(toolNameOf(part))}`, toolCallId, input, ...settled }];
}

/** A call of another run may have been given the same id. What replaces it is the same each time. */
function uniqueId(id: string, taken: Set<string>): string {
  let unique = id;
  for (let number = 2; taken.has(unique); number++) unique = `call_${number}_${id}`.slice(0, 40);
  taken.add(unique);
  return unique;
}

/** What the model reads where the output that is shown is not it. */
function outputOf(part: UiPart, siblings: readonly UiPart[]): ModelOutput | undefined {
  switch (part.state) {
    case 'output-available':
    case 'output-error':
      return undefined;
    case 'output-denied':
      return { type: 'execution-denied', reason: deniedText(part) };
    default:
      return { type: 'text', value: waitingText(part, siblings) };
  }
}

function deniedText({ approval }: UiPart): string {
  const { reason, descriptor } = isObject(approval) ? approval : ({} as JsonObject);
  const outcome = isObject(descriptor) ? descriptor.outcome : 'declined';
  if (outcome === 'cancelled') return cancelledText;
  return declinedText(outcome !== 'unanswered', typeof reason === 'string' ? reason : undefined);
}

/** The plain words by which the model learns that a call of an earlier turn is not settled, and what it waits for. */
function waitingText({ state, approval, toolCallId }: UiPart, siblings: readonly UiPart[]): string {
  if (state === 'approval-requested') {
    return 'This call has not been carried out: it waits for a person to approve it.';
  }
  if (state === 'approval-responded') {
    return isObject(approval) && approval.approved === false
      ? declinedText(true, typeof approval.reason === 'string' ? approval.reason : undefined)
      : 'A person approved this call; its result is not known yet.';
  }
  const beside = (type: string): UiPart | undefined =>
    siblings.find((part) => part.type === type && part.id === toolCallId);
  const suspension = beside('data-tool-call-suspended')?.data;
  if (isObject(suspension)) {
    const asked = JSON.stringify(suspension.suspendPayload ?? null);
    return `This call is not finished: it asked: ${asked} and waits for the answer of a person.`;
  }
  if (beside('data-tool-call-interrupted')) {
    return 'Nobody knows whether this call was carried out: it was interrupted, and waits for a person to find out.';
  }
  const below = siblings.filter((part) => notesOf(part).isBelow && isOf(part, String(toolCallId)));
  const waiting = below.find((part) => !String(part.state).startsWith('output-'));
  return waiting
    ? `This call is not finished: its agent called "${toolNameOf(waiting)}". ${waitingText(waiting, siblings)}`
    : 'This call is not finished yet: its result is not known.';
}

/** Whether a call of a sub-agent belongs to a delegation. */
function isOf({ toolCallId }: UiPart, delegation: string): boolean {
  return String(toolCallId).startsWith(`${delegation}~`);
}

/** What the library made of it, without the questions and answers of people, which only a page needs. */
function finish(message: Message, calls: Calls): Message[] {
  const { role, content } = message;
  if (typeof content === 'string' || content.every(isPlain)) return content.length > 0 ? [message] : [];
  const parts = content.flatMap((part) => (isPlain(part) ? [part] : finishPart(part, role, calls)));
  return parts.length > 0 ? [{ ...message, content: parts }] : [];
}

/** A text, which the library gives as it is. */
function isPlain({ type }: JsonObject): boolean {
  return type === 'text';
}

function finishPart(part: JsonObject, role: Message['role'], calls: Calls): JsonObject[] {
  switch (part.type) {
    case 'tool-approval-request': {
      const { approvalId = '', toolCallId = '' } = part;
      if (!calls.askedByProvider.has(String(toolCallId))) return [];
      return [{ type: 'tool-approval-request', approvalId, toolCallId }];
    }
    case 'tool-approval-response':
      return part.providerExecuted === true ? [defined(part)] : [];
    case 'tool-result': {
      const { toolCallId } = part;
      if (role !== 'tool') return [finishResult(part, calls)];
      if (calls.askedByProvider.has(String(toolCallId))) return [];
      const { providerOptions: _ofTheCall, ...result } = part;
      return [finishResult(result, calls)];
    }
    case 'file':
    case 'reasoning-file':
      return [toJson(part, 'file of the thread') as JsonObject];
    default:
      return [defined(part)];
  }
}

function finishResult(part: JsonObject, { outputs }: Calls): JsonObject {
  const output = outputs.get(String(part.toolCallId));
  return defined(output ? { ...part, output: output as unknown as JsonObject } : part);
}

/** Without what is undefined, as JSON has it. Most parts are so already: histories are long, and read for each leg. */
function defined(part: JsonObject): JsonObject {
  for (const key in part) {
    if (part[key] === undefined) {
      return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
    }
  }
  return part;
}
