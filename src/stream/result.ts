/** What a run amounts to so far, for callers: its steps and where it waits. Pure. */
import { type Found, pathTo } from '../core/below.ts';
import type { JsonObject } from '../core/json.ts';
import { textOf } from '../core/message.ts';
import { waitingCalls } from '../core/next.ts';
import type { SuspendPayload } from '../core/policy.ts';
import { type Call, isSettled, type Run, type Step } from '../core/state.ts';
import {
  type ApprovalPayload,
  type CallPayload,
  decisionSchema,
  type StepResult,
  type SuspensionPayload,
} from './chunk.ts';

/** The steps whose response is there, over all legs of the run. */
export function stepResults(run: Run): StepResult[] {
  return run.steps.flatMap((step) => (step.response ? [stepResult(run, step)] : []));
}

export function stepResult(run: Run, step: Step): StepResult {
  const response = step.response as NonNullable<Step['response']>;
  const calls = step.calls.map((id) => run.calls.get(id) as Call);
  const reasoning = response.content.map((part) => (part.type === 'reasoning' ? part.text : ''));
  return {
    text: textOf(response.content as readonly JsonObject[]),
    reasoningText: reasoning.join(''),
    toolCalls: calls.map(callPayload),
    toolResults: calls
      .filter((call) => call.state === 'finished')
      .map((call) => ({ ...callPayload(call), result: call.result })),
    finishReason: response.finishReason,
    usage: response.usage,
    response: response.response ?? {},
    ...(response.providerMetadata ? { providerMetadata: response.providerMetadata } : {}),
  };
}

export function callPayload({ toolCallId, toolName, args }: Call): CallPayload {
  return { toolCallId, toolName, args };
}

/** As `callPayload`, under the call's qualified id and with the way to it, where it is one of a run below. */
export function foundPayload(root: Run, { id, run, call }: Found): CallPayload {
  if (run === root) return callPayload(call);
  return { ...callPayload(call), toolCallId: id, path: pathTo(root, run.started.runId) };
}

/** The text of all steps, over all legs. */
export function totalText(run: Run): string {
  return run.steps.map((step) => textOf((step.response?.content ?? []) as readonly JsonObject[])).join('');
}

export type StopPayload = ApprovalPayload | SuspensionPayload;

/** What a held or suspended call waits for. */
export function stopPayload(root: Run, found: Found): StopPayload {
  const { call } = found;
  const { stop, suspension, request } = call;
  const base = { ...foundPayload(root, found), stop, fingerprint: request.fingerprint };
  if (call.state === 'held') return { ...base, resumeSchema: decisionSchema };
  const { payload, resumeSchema } = suspension ?? { payload: null };
  return {
    ...base,
    suspendPayload: payload,
    ...(resumeSchema ? { resumeSchema: JSON.stringify(resumeSchema) } : {}),
  };
}

/** A call that waits for a person. */
export interface WaitingCall extends CallPayload {
  readonly state: 'held' | 'suspended' | 'interrupted';
  /** True: approve or decline. False: resume with data or decline, or, interrupted, say what happened. */
  readonly requiresApproval: boolean;
  readonly stop: number;
  readonly fingerprint: string;
  /** JSON Schema, as a JSON string, of what decides or resumes. */
  readonly resumeSchema?: string;
  /** What the tool gave to `suspend()`. */
  readonly suspendPayload?: SuspendPayload;
}

/** All calls that wait for a person, in the order of the model. */
export function waitingCallsOf(root: Run): WaitingCall[] {
  return waitingCalls(root).map((found) => {
    const { state, stop, request } = found.call as Call & Pick<WaitingCall, 'state'>;
    if (state !== 'interrupted')
      return { ...stopPayload(root, found), state, requiresApproval: state === 'held' };
    const { fingerprint } = request;
    return { ...foundPayload(root, found), state, stop, fingerprint, requiresApproval: false };
  });
}

/** Whether a step has its response and nothing of it is open. */
export function isStepSettled(run: Run, step: Step): boolean {
  return step.response !== undefined && step.calls.every((id) => isSettled(run.calls.get(id) as Call));
}
