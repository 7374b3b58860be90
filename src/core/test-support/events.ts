/** Events and runs for tests of the pure functions: small, and the same everywhere. */
import type { CallDecided, CallRequested, Claim, Event, Holder, RunStarted, StepFinished } from '../event.ts';
import { fold } from '../run.ts';
import type { CallMove, CallState, Run } from '../state.ts';

export const runId = 'run-1';
export const me: Holder = { worker: 'worker-1', leg: '1' };
export const other: Holder = { worker: 'worker-2', leg: '1' };

export const claimOf = (holder: Holder, attempt = 1): Claim => ({ ...holder, attempt });

export function runStarted(over: Partial<RunStarted> = {}): RunStarted {
  return {
    type: 'run-started',
    runId,
    at: 1,
    agentId: 'agent-1',
    messageId: 'message-1',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }],
    options: { maxSteps: 20, maxRetries: 0, toolCallConcurrency: 10 },
    context: {},
    missing: [],
    ...over,
  };
}

export function withOptions(over: Partial<RunStarted['options']>): RunStarted {
  const started = runStarted();
  return { ...started, options: { ...started.options, ...over } };
}

export function stepStarted(step = 0, holder: Holder = me, attempt = 1): Event {
  return { type: 'step-started', runId, at: 2, step, claim: claimOf(holder, attempt) };
}

/** A response that asks for these calls, after a text. */
export function stepFinished(
  step: number,
  ids: readonly string[],
  over: Partial<StepFinished> = {},
): StepFinished {
  return {
    type: 'step-finished',
    runId,
    at: 3,
    step,
    content: [
      { type: 'text', text: `text ${step}` },
      ...ids.map((toolCallId) => ({ type: 'call', toolCallId }) as const),
    ],
    finishReason: ids.length > 0 ? 'tool-calls' : 'stop',
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    ...over,
  };
}

export const fingerprintOf = (toolCallId: string): string => `fingerprint of ${toolCallId}`;

export function requested(
  toolCallId: string,
  gate: CallRequested['gate'],
  over: Partial<CallRequested> = {},
): CallRequested {
  return {
    type: 'call-requested',
    runId,
    at: 4,
    toolCallId,
    step: 0,
    toolName: 'refund',
    raw: { id: toolCallId },
    textHash: `hash of ${toolCallId}`,
    fingerprint: fingerprintOf(toolCallId),
    gate,
    ...(gate === 'refused' ? { error: { code: 'invalid-arguments', message: 'Wrong.' } } : {}),
    ...over,
  };
}

export const asStep = (request: CallRequested, step: number): CallRequested => ({ ...request, step });

export function decided(
  toolCallId: string,
  verdict: CallDecided['verdict'],
  over: Partial<CallDecided> = {},
): CallDecided {
  return {
    type: 'call-decided',
    runId,
    at: 5,
    toolCallId,
    stop: 1,
    verdict,
    fingerprint: fingerprintOf(toolCallId),
    ...(verdict === 'resume' ? { data: { answer: 42 } } : {}),
    ...over,
  };
}

export function callStarted(toolCallId: string, holder: Holder = me, attempt = 1): Event {
  return { type: 'call-started', runId, at: 6, toolCallId, claim: claimOf(holder, attempt) };
}

export function suspended(toolCallId: string, stop = 1): Event {
  return { type: 'call-suspended', runId, at: 7, toolCallId, stop, payload: { question: 'Which?' } };
}

export function finished(toolCallId: string, result: string | null = 'done'): Event {
  return { type: 'call-finished', runId, at: 8, toolCallId, result };
}

export function failed(toolCallId: string): Event {
  return { type: 'call-failed', runId, at: 8, toolCallId, error: { code: 'tool-failed', message: 'Broke.' } };
}

export function callIs(
  type: 'call-interrupted' | 'call-released' | 'call-cancelled',
  toolCallId: string,
): Event {
  return type === 'call-interrupted'
    ? { type, runId, at: 9, toolCallId, startedAt: 8 }
    : { type, runId, at: 9, toolCallId };
}

export const stepReleased = (step = 0): Event => ({ type: 'step-released', runId, at: 9, step });
export const stepFailed = (step = 0): Event => ({
  type: 'step-failed',
  runId,
  at: 9,
  step,
  error: { code: 'model-failed', message: 'No answer.' },
});
export const runContinued: Event = { type: 'run-continued', runId, at: 10 };
export const cancelRequested: Event = { type: 'cancel-requested', runId, at: 10, reason: 'enough' };
export const runEnded: Event = {
  type: 'run-ended',
  runId,
  at: 11,
  outcome: { status: 'finished', finishReason: 'stop', text: '', usage: {} },
};

/** The state after these events, frozen all through. */
export function runOf(...events: readonly Event[]): Run {
  return deepFreeze(fold(events) as Run);
}

/** A run whose first step asked for these calls, then more. */
export function runWith(requests: readonly CallRequested[], ...more: readonly Event[]): Run {
  return runOf(...asking(requests), ...more);
}

export function asking(
  requests: readonly CallRequested[],
  started: RunStarted = runStarted(),
): readonly Event[] {
  const ids = requests.map((request) => request.toolCallId);
  return [started, stepStarted(), stepFinished(0, ids), ...requests];
}

/** What brings the call `c1` into each state, after the response that asks for it. */
export const wayTo: Record<CallState, readonly Event[]> = {
  ready: [requested('c1', 'free')],
  held: [requested('c1', 'held')],
  suspended: [requested('c1', 'free'), callStarted('c1'), suspended('c1')],
  running: [requested('c1', 'free'), callStarted('c1')],
  interrupted: [requested('c1', 'free'), callStarted('c1'), callIs('call-interrupted', 'c1')],
  finished: [requested('c1', 'free'), callStarted('c1'), finished('c1')],
  failed: [requested('c1', 'refused')],
  declined: [requested('c1', 'held'), decided('c1', 'decline')],
  cancelled: [requested('c1', 'held'), callIs('call-cancelled', 'c1')],
};

export const states = Object.keys(wayTo) as CallState[];

/** A run whose only call `c1` is in this state. */
export function runIn(state: CallState): Run {
  return runOf(runStarted(), stepStarted(), stepFinished(0, ['c1']), ...wayTo[state]);
}

/** The moves of a delegation come by events of the run below. */
export type OwnMove = Exclude<CallMove, 'delegate' | 'return'>;

/** The event of each move of `c1`, at the stop at which it is. */
export const eventOf: Record<OwnMove, (stop: number) => Event> = {
  start: () => callStarted('c1'),
  release: () => callIs('call-released', 'c1'),
  interrupt: () => callIs('call-interrupted', 'c1'),
  suspend: (stop) => suspended('c1', stop + 1),
  finish: () => finished('c1'),
  fail: () => failed('c1'),
  cancel: () => callIs('call-cancelled', 'c1'),
  approve: (stop) => decided('c1', 'approve', { stop }),
  decline: (stop) => decided('c1', 'decline', { stop }),
  resume: (stop) => decided('c1', 'resume', { stop }),
  'run-again': (stop) => decided('c1', 'resolve', { stop, resolution: 'run-again' }),
  'report-output': (stop) => decided('c1', 'resolve', { stop, resolution: { output: 'as reported' } }),
  'report-error': (stop) => decided('c1', 'resolve', { stop, resolution: { error: 'as reported' } }),
};

/** Freezes a value all through, maps too, so that changing it throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map) {
    for (const item of value.values()) deepFreeze(item);
    const refuse = (): never => {
      throw new Error('A frozen map was changed.');
    };
    Object.assign(value, { set: refuse, delete: refuse, clear: refuse });
  }
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}
