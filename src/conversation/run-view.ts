/**
 * Owns what a run is in its thread: its input, and one message of the assistant over all its steps and pauses. A view
 * over the run, the same while it is open and when it has ended. Pure.
 */
import { everyCall } from '../core/below.ts';
import type { StepContent } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import type { Call, Run, Step } from '../core/state.ts';
import type { MessageKey, MessageRow } from '../core/store.ts';
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { isUnentered } from '../models/prompt.ts';
import { approvalIdOf } from './approval-id.ts';
import { dataUrl, uiMessagesFrom } from './input-view.ts';
import { type CallNotes, type Denial, suspendedPart, type UiPart, withNotes } from './ui-parts.ts';

/** A message with its place in the thread. */
export interface Spoken extends MessageKey {
  readonly message: UIMessage;
}

/** The messages of a run in its thread; none where it leaves nothing there. */
export function spokenIn(run: Run): Spoken[] {
  const { runId, at, memory, threadId, messageIds } = run.started;
  if (memory === undefined || memory.readOnly || threadId === undefined) return [];
  const isAgain = ({ id }: UIMessage): boolean => id === messageIds?.[0];
  return viewOf(run).map(({ index, message }) => ({
    ...(memory.again && isAgain(message) ? memory.again : { at, runId, index }),
    message,
  }));
}

/** As `spokenIn`, as it is stored. */
export function rowsOf(run: Run): MessageRow[] {
  const { threadId = '' } = run.started;
  return spokenIn(run).map(({ message, ...key }) => ({
    ...key,
    threadId,
    messageId: message.id,
    data: JSON.stringify(message),
  }));
}

function viewOf(run: Run): { index: number; message: UIMessage }[] {
  const { runId, messageId, messages, messageIds } = run.started;
  const input = uiMessagesFrom(
    messages,
    (index) => messageIds?.[index],
    (index) => `${runId}:${index}`,
  ).filter(({ message }) => message.role !== 'system');
  const parts = answerParts(run);
  if (parts.length === 0) return input;
  const { status } = run.outcome ?? {};
  const answer: UIMessage = {
    id: messageId,
    role: 'assistant',
    metadata: { runId, ...(status && status !== 'finished' ? { status } : {}) },
    parts: parts as unknown as UIMessage['parts'],
  };
  return [...input, { index: messages.length, message: answer }];
}

/** The parts of the one message that a run is. */
export function answerParts(run: Run): UiPart[] {
  return run.steps.flatMap((step) => stepParts(run, step));
}

function stepParts(run: Run, step: Step): UiPart[] {
  const content = (step.response?.content ?? []).flatMap((part) => contentParts(run, part));
  return content.length > 0 ? [{ type: 'step-start' }, ...content] : [];
}

function contentParts(run: Run, part: StepContent): UiPart[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text, ...metadataOf(part) }];
    case 'file':
    case 'reasoning-file': {
      const { type, mediaType, data } = part;
      return [{ type, mediaType, url: dataUrl(data, mediaType), ...metadataOf(part) }];
    }
    case 'custom':
      return [{ type: 'custom', kind: String(part.kind), ...metadataOf(part) }];
    case 'source':
      return sourceParts(part as JsonObject);
    case 'call': {
      const { runId } = run.started;
      const call = run.calls.get(part.toolCallId) as Call;
      return [...callParts(runId, call, call.toolCallId), ...partsBelow(runId, call)];
    }
    case 'provider-call':
      return [providerCall(run, part)];
    case 'provider-result':
      return [];
  }
}

function metadataOf({ providerOptions }: { readonly providerOptions?: unknown; readonly type: string }): {
  providerMetadata?: JsonObject;
} {
  return providerOptions === undefined ? {} : { providerMetadata: providerOptions as JsonObject };
}

/** A source, as a part and as a chunk has it. */
export function sourceParts({
  sourceType,
  id,
  url,
  title,
  mediaType,
  filename,
  providerMetadata,
}: JsonObject): UiPart[] {
  const shared = {
    sourceId: String(id),
    ...(title === undefined ? {} : { title }),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
  if (sourceType === 'url') return [{ type: 'source-url', url: String(url), ...shared }];
  return [
    {
      type: 'source-document',
      mediaType: String(mediaType),
      ...(filename === undefined ? {} : { filename }),
      ...{ title: '', ...shared },
    },
  ];
}

/** A call that the provider ran itself, with its result wherever in the run it came. */
function providerCall(run: Run, part: Extract<StepContent, { type: 'provider-call' }>): UiPart {
  const { toolCallId, toolName, raw, providerOptions } = part;
  const result = run.steps
    .flatMap((step) => step.response?.content ?? [])
    .find((other) => other.type === 'provider-result' && other.toolCallId === toolCallId);
  const call = {
    type: `tool-${toolName}`,
    toolCallId,
    input: raw,
    providerExecuted: true,
    ...(providerOptions ? { callProviderMetadata: providerOptions } : {}),
  };
  if (result?.type !== 'provider-result') return { ...call, state: 'input-available' };
  const given: JsonObject = result.providerOptions ? { resultProviderMetadata: result.providerOptions } : {};
  if (!result.isError) return { ...call, state: 'output-available', output: result.result, ...given };
  const text = typeof result.result === 'string' ? result.result : JSON.stringify(result.result);
  const notes: JsonObject = withNotes({ modelOutput: { type: 'error-json', value: result.result } });
  return { ...call, state: 'output-error', errorText: text, ...given, ...notes };
}

/** What waits, or waited, in a run below: told beside the delegation, under the ids by which it is decided. */
function partsBelow(runId: string, { toolCallId, child }: Call): UiPart[] {
  const below = child ? everyCall(child).filter(({ call }) => call.stop > 0) : [];
  return below.flatMap(({ id, call }) => callParts(runId, call, `${toolCallId}~${id}`, { isBelow: true }));
}

/** A call, and what a page needs to know of one that waits for more than a yes. */
function callParts(runId: string, call: Call, toolCallId: string, notes: CallNotes = {}): UiPart[] {
  const { request, toolName, modelOutput, stop } = call;
  const part = {
    type: `tool-${toolName}`,
    toolCallId,
    input: call.args,
    ...stateOf((stop) => approvalIdOf({ runId, toolCallId, stop }), call),
    ...(request.approvalId === undefined ? {} : { providerExecuted: true }),
    ...(request.providerOptions ? { callProviderMetadata: request.providerOptions } : {}),
    ...withNotes({
      ...notes,
      ...(request.args === undefined ? {} : { raw: request.raw }),
      ...(modelOutput === undefined ? {} : { modelOutput }),
      ...(request.approvalId === undefined ? {} : { approvalId: request.approvalId }),
    }),
  };
  const data = { runId, toolCallId, toolName, stop };
  if (call.state === 'suspended') {
    const { payload, resumeSchema } = call.suspension ?? { payload: null };
    return [
      part,
      suspendedPart({ ...data, suspendPayload: payload, ...(resumeSchema ? { resumeSchema } : {}) }),
    ];
  }
  if (call.state === 'interrupted') {
    return [part, { type: 'data-tool-call-interrupted', id: toolCallId, data }];
  }
  return [part];
}

/** @param idOf the id of the approval at a stop. */
function stateOf(idOf: (stop: number) => string, call: Call): JsonObject {
  const denied = (outcome: Denial, reason?: string): JsonObject => ({
    state: 'output-denied',
    approval: {
      id: idOf(call.stop),
      approved: false,
      ...(reason === undefined ? {} : { reason }),
      descriptor: { outcome },
    },
  });
  const approve = call.decisions.findLast(({ verdict }) => verdict === 'approve');
  const approval = approve && {
    id: idOf(approve.stop),
    approved: true,
    ...(approve.reason === undefined ? {} : { reason: approve.reason }),
  };
  switch (call.state) {
    case 'held': {
      const { fingerprint } = call.request;
      const { stop } = call;
      return { state: 'approval-requested', approval: { id: idOf(stop), descriptor: { fingerprint, stop } } };
    }
    case 'finished':
      // What the provider runs, once approved, has its result at the provider.
      if (call.request.approvalId !== undefined && approval) return { state: 'approval-responded', approval };
      return { state: 'output-available', output: call.result ?? null, ...(approval ? { approval } : {}) };
    case 'failed':
      return {
        state: 'output-error',
        errorText: call.error?.message ?? 'The call failed.',
        ...(approval ? { approval } : {}),
      };
    case 'declined':
      return denied(isUnentered(call) ? 'declined' : 'unanswered', call.decisions.at(-1)?.reason);
    case 'cancelled':
      return denied('cancelled');
    default:
      return { state: 'input-available' };
  }
}
