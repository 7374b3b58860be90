/**
 * The prompt of the next model call, from the events alone: the input, then each step with one result for each of
 * its calls, in order (invariant 6).
 */
import type { StepContent } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import type { Message, ModelOutput } from '../core/message.ts';
import { type Call, lastDecision, type Run, type Step } from '../core/state.ts';

/** What was said before, the run's input and what it added. Calls that still wait have no result yet. */
export function messagesOf(run: Run, history: readonly Message[] = []): Message[] {
  // Providers take system messages at the beginning only.
  const begin = run.started.messages.findIndex(({ role }) => role !== 'system');
  const input = run.started.messages.toSpliced(begin, 0, ...history);
  return [...input, ...run.steps.flatMap((step) => stepMessages(run, step))];
}

function stepMessages(run: Run, step: Step): Message[] {
  const content = (step.response?.content ?? []).flatMap((part) => assistantPart(run, part));
  const calls = step.calls.map((id) => run.calls.get(id) as Call);
  const results = calls.flatMap((call) => toolPart(call));
  return [
    ...(content.length > 0 ? [{ role: 'assistant', content } as const] : []),
    ...(results.length > 0 ? [{ role: 'tool', content: results } as const] : []),
  ];
}

function assistantPart(run: Run, part: StepContent): JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' && part.providerOptions === undefined ? [] : [part];
    case 'reasoning':
    case 'file':
    case 'reasoning-file':
    case 'custom':
      return [part as JsonObject];
    case 'source':
      return [];
    case 'call': {
      const { request, toolName } = run.calls.get(part.toolCallId) as Call;
      const asked = request.approvalId;
      return [
        {
          type: 'tool-call',
          toolCallId: part.toolCallId,
          toolName: asked === undefined ? acceptable(toolName) : toolName,
          input: request.raw,
          ...(asked === undefined ? {} : { providerExecuted: true }),
          ...(request.providerOptions ? { providerOptions: request.providerOptions } : {}),
        },
        ...(asked === undefined
          ? []
          : [{ type: 'tool-approval-request', approvalId: asked, toolCallId: part.toolCallId }]),
      ];
    }
    case 'provider-call': {
      const { raw, type: _type, ...rest } = part;
      return [{ type: 'tool-call', ...rest, input: raw, providerExecuted: true }];
    }
    case 'provider-result': {
      const { result, isError, type: _type, ...rest } = part;
      return [
        { type: 'tool-result', ...rest, output: { type: isError ? 'error-json' : 'json', value: result } },
      ];
    }
  }
}

function toolPart(call: Call): JsonObject[] {
  const output = modelOutputOf(call);
  if (output === undefined) return [];
  const { approvalId } = call.request;
  if (approvalId !== undefined) {
    const reason = call.decisions.at(-1)?.reason;
    return [
      {
        type: 'tool-approval-response',
        approvalId,
        approved: call.state === 'finished',
        providerExecuted: true,
        ...(reason === undefined ? {} : { reason }),
      },
    ];
  }
  return [{ type: 'tool-result', toolCallId: call.toolCallId, toolName: acceptable(call.toolName), output }];
}

/** The history of a prompt: it begins with a user, as some providers demand. */
export function fromFirstUser(messages: readonly Message[]): Message[] {
  const first = messages.findIndex(({ role }) => role === 'user');
  return first === -1 ? [] : messages.slice(first);
}

/** A tool name that the model made up, as providers take it back; the name of a real tool is unchanged. */
export function acceptable(toolName: string): string {
  return toolName.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || '_';
}

/** What the model reads as the result of a settled call; undefined while it is open. */
export function modelOutputOf(call: Call): (ModelOutput & JsonObject) | undefined {
  switch (call.state) {
    case 'finished':
      if (call.modelOutput) return call.modelOutput as ModelOutput & JsonObject;
      return typeof call.result === 'string'
        ? { type: 'text', value: call.result }
        : { type: 'json', value: call.result ?? null };
    case 'failed':
      return { type: 'error-text', value: call.error?.message ?? 'The call failed.' };
    case 'declined':
      return {
        type: 'execution-denied',
        reason: declinedText(isUnentered(call), lastDecision(call)?.reason),
      };
    case 'cancelled':
      return { type: 'execution-denied', reason: cancelledText };
    default:
      return undefined;
  }
}

export const cancelledText = 'The run was cancelled before this call was carried out.';

/**
 * The plain words by which the model learns of a decline. Nothing ever reads them back.
 * @param before whether `execute` was never entered; else the call had asked for something.
 */
export function declinedText(before: boolean, reason: string | undefined): string {
  return before
    ? `A person declined this call; it was not carried out.${reason ? ` Reason: ${reason}` : ''}`
    : `A person declined to answer what this call asked for; it was not completed.${reason ? ` Reason: ${reason}` : ''}`;
}

/** Whether a declined call was declined at its first stop, before `execute`. */
export function isUnentered(call: Call): boolean {
  return call.request.gate === 'held' && call.stop === 1;
}
