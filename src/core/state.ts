/**
 * Owns what a run is made of, and which move of a call is legal in which state. SPEC.md has the same table in words.
 */
import type {
  Answering,
  CallDecided,
  CallError,
  CallRequested,
  CallSuspended,
  Claim,
  Outcome,
  Person,
  RunError,
  RunStarted,
  StepFinished,
} from './event.ts';
import type { Json } from './json.ts';
import type { ModelOutput } from './message.ts';

export type CallState =
  | 'ready'
  | 'held'
  | 'suspended'
  | 'running'
  | 'interrupted'
  | 'finished'
  | 'failed'
  | 'declined'
  | 'cancelled';

export interface Call {
  readonly request: CallRequested;
  /** The position of its request, and of the event that opened its present stop, in the log (from 1). */
  readonly requestSeq: number;
  readonly stopSeq: number;
  /** The position of the event that brought its present state. */
  readonly stateSeq: number;
  readonly toolCallId: string;
  readonly toolName: string;
  /** What was shown and bound. */
  readonly args: Json;
  readonly state: CallState;
  /** How many times the call has waited for a person, up to now. */
  readonly stop: number;
  /** When the present state began. */
  readonly since: number;
  /** How many times `execute` was claimed. */
  readonly attempts: number;
  readonly claim?: Claim | undefined;
  readonly decisions: readonly CallDecided[];
  readonly suspension?: Pick<CallSuspended, 'payload' | 'resumeSchema' | 'autoResume'>;
  readonly result?: Json;
  readonly modelOutput?: ModelOutput;
  readonly error?: CallError;
  /** The run that the call began, where it is a delegation. */
  readonly child?: Run;
}

export interface Step {
  readonly index: number;
  readonly state: 'claimed' | 'open' | 'stalled' | 'finished';
  readonly attempts: number;
  /** How often its model call was taken over from a dead worker since somebody last continued it. */
  readonly takeovers: number;
  readonly claim?: Claim | undefined;
  readonly response?: StepFinished;
  readonly error?: RunError | undefined;
  readonly calls: readonly string[];
}

export interface Run {
  readonly started: RunStarted;
  /** How many events were folded: the version of the stored log. */
  readonly length: number;
  readonly steps: readonly Step[];
  readonly calls: ReadonlyMap<string, Call>;
  /** The caller's condition was met before the next model call: only the end may follow. */
  readonly stopped?: true;
  readonly cancel?: { readonly reason?: string; readonly by?: Person };
  /** The result of its last call went to another run, which goes on in its place. */
  readonly answered?: Answering;
  readonly outcome?: Outcome;
}

export type CallMove =
  | 'start'
  | 'delegate'
  | 'return'
  | 'release'
  | 'interrupt'
  | 'suspend'
  | 'finish'
  | 'fail'
  | 'cancel'
  | 'approve'
  | 'decline'
  | 'resume'
  | 'run-again'
  | 'report-output'
  | 'report-error';

const none = {
  start: null,
  delegate: null,
  return: null,
  release: null,
  interrupt: null,
  suspend: null,
  finish: null,
  fail: null,
  cancel: null,
  approve: null,
  decline: null,
  resume: null,
  'run-again': null,
  'report-output': null,
  'report-error': null,
} as const satisfies Record<CallMove, null>;

/** State × move. Each row names every move, so that a missing cell does not compile. */
export const callTable: Record<CallState, Record<CallMove, CallState | null>> = {
  ready: { ...none, start: 'running', cancel: 'cancelled' },
  held: { ...none, approve: 'ready', decline: 'declined', cancel: 'cancelled' },
  suspended: { ...none, resume: 'ready', decline: 'declined', cancel: 'cancelled' },
  running: {
    ...none,
    delegate: 'running',
    return: 'ready',
    release: 'ready',
    interrupt: 'interrupted',
    suspend: 'suspended',
    finish: 'finished',
    fail: 'failed',
  },
  interrupted: {
    ...none,
    suspend: 'suspended',
    finish: 'finished',
    fail: 'failed',
    cancel: 'cancelled',
    'run-again': 'ready',
    'report-output': 'finished',
    'report-error': 'failed',
  },
  finished: none,
  failed: none,
  declined: none,
  cancelled: none,
};

const waiting: ReadonlySet<CallState> = new Set(['held', 'suspended', 'interrupted']);
const settled: ReadonlySet<CallState> = new Set(['finished', 'failed', 'declined', 'cancelled']);

export const isWaiting = (call: Call): boolean => waiting.has(call.state);
export const isSettled = (call: Call): boolean => settled.has(call.state);

export function lastStep(run: Run): Step | undefined {
  return run.steps.at(-1);
}

/** The calls of the last step, in the order of the model. */
export function openCalls(run: Run): Call[] {
  return (lastStep(run)?.calls ?? []).map((id) => run.calls.get(id) as Call);
}

/** The decision that set the call's present course: the one at its last stop. */
export function lastDecision(call: Call): CallDecided | undefined {
  const decision = call.decisions.at(-1);
  return decision?.stop === call.stop ? decision : undefined;
}
