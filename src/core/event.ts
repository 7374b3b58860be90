/**
 * What can happen in a run, past tense. A run *is* its list of events; they are stored as JSON, so a
 * change here must keep reading what older releases wrote.
 */
import type { Json, JsonObject } from './json.ts';
import type { Message, ModelOutput } from './message.ts';
import type { ResponsePart, ToolChoice } from './model.ts';

/** The version of the stored form, written into each event. */
export const eventFormat = 1;

/** The durable mark that an `execute` or a model call is about to start. */
export interface Claim {
  readonly worker: string;
  /** The drive within the worker that made the claim, and so performs it. */
  readonly leg: string;
  /** 1 for the first try. */
  readonly attempt: number;
}

/** Who acts: a worker, and the leg in it. */
export type Holder = Omit<Claim, 'attempt'>;

/** The options of a run that JSON can hold: kept with the run, used by every leg. */
export interface StoredOptions {
  /** Every event is stored from the first. */
  readonly durable?: boolean;
  readonly maxSteps: number;
  readonly maxRetries: number;
  readonly toolCallConcurrency: number;
  readonly requireToolApproval?: boolean;
  readonly activeTools?: readonly string[];
  readonly toolChoice?: ToolChoice;
  readonly instructions?: string;
  readonly model?: string;
  readonly modelSettings?: JsonObject;
  readonly providerOptions?: JsonObject;
  /** The JSON Schema of the object that the answer is to be. */
  readonly outputSchema?: JsonObject;
}

export interface Person {
  readonly id: string;
  readonly name?: string | undefined;
  /** Auto-resume: the message in which the answer was found. */
  readonly messageId?: string | undefined;
}

/** The call of another run that is answered with the result of a call. */
export interface Answering {
  readonly runId: string;
  readonly toolCallId: string;
}

/** What became of a call whose result another run takes. */
export interface Answer {
  readonly result?: Json;
  /** What the model reads in place of the result. */
  readonly modelOutput?: ModelOutput;
  readonly error?: CallError;
}

/** A suspended call that a turn may answer in words, as a tool of its first model call (auto-resume). */
export interface Resumable {
  /** The name of that tool. */
  readonly name: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly stop: number;
  /** What the model is told of it. */
  readonly about: string;
  readonly resumeSchema: JsonObject;
}

/** Why a call failed, as the model and the record see it. */
export interface CallError {
  readonly code:
    | 'tool-not-found'
    | 'invalid-arguments'
    | 'tool-failed'
    | 'tool-changed'
    | 'invalid-output'
    | 'invalid-suspend-payload'
    | 'too-large'
    | 'response-cut'
    | 'reported';
  readonly message: string;
  readonly name?: string;
}

export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly missing?: readonly string[];
}

/** How a run ended. What is kept of it after its events are gone. */
export interface Outcome {
  readonly messageId?: string;
  readonly status: 'finished' | 'failed' | 'cancelled';
  readonly finishReason: string;
  readonly text: string;
  readonly usage: JsonObject;
  readonly error?: RunError;
  readonly reason?: string;
  readonly by?: Person;
  /** Another run took the result of its last call, and the conversation went on there. */
  readonly answered?: Answering & Answer;
}

export type Verdict = 'approve' | 'decline' | 'resume' | 'resolve';

/** A way by which decisions come, other than the application's own code: over HTTP, and there by a chat; by conversation. */
export type Door = 'http' | 'chat' | 'thread' | 'auto-resume';

export interface Decision {
  readonly toolCallId: string;
  readonly stop: number;
  readonly verdict: Verdict;
  readonly by?: Person;
  /** Set by the door itself. */
  readonly via?: Door;
  readonly reason?: string;
  /** Resume: the data. Never `undefined`; `null`, 0, '' and false count. */
  readonly data?: Json;
  readonly decisionId?: string;
  /** The fingerprint of the call that was decided. */
  readonly fingerprint: string;
  /** The call was not named: the one announced last was meant. */
  readonly addressed?: 'latest';
  /** Resume: the call of a later turn that answers what this one asked. */
  readonly answering?: Answering;
  /** Resolve: what was chosen for an interrupted call. */
  readonly resolution?: 'run-again' | { readonly output: Json } | { readonly error: string };
}

export type StepContent =
  | Exclude<ResponsePart, { type: 'call' }>
  | { readonly type: 'call'; readonly toolCallId: string };

interface On {
  readonly runId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface RunStarted extends On {
  readonly type: 'run-started';
  readonly agentId: string;
  /** The id of the assistant's message, the same over all legs. */
  readonly messageId: string;
  readonly messages: readonly Message[];
  readonly options: StoredOptions;
  readonly context: JsonObject;
  /** What the first caller passed and JSON cannot hold: must be passed again, or SPEC.md says what follows. */
  readonly missing: readonly string[];
  readonly threadId?: string;
  readonly resourceId?: string;
  /** What this turn may answer, of what waits in its thread. */
  readonly resumable?: readonly Resumable[];
  /** Where telemetry is on: the span of the run's first leg, which later legs go on from (W3C Trace Context). */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** A run below: what the delegation adds to the instructions of its agent. */
  readonly addedInstructions?: string;
  /** Present where the agent has a memory: what of the thread precedes the run in its prompts, never the text of it. */
  readonly memory?: RecalledWindow;
  /** The ids that messages of the input were given, each at the place of its message. */
  readonly messageIds?: readonly (string | null)[];
}

/** The first and the last message that a run recalls from its thread; neither where it recalls none. */
export interface RecalledWindow {
  readonly from?: MessageKey;
  readonly to?: MessageKey;
  /** The input is a message that the thread has already: there it stands. */
  readonly again?: MessageKey;
  /** The run leaves nothing in the thread. */
  readonly readOnly?: true;
}

/** Where a message stands in its thread: by time, then by run ('' where it is of none), then by index. */
export interface MessageKey {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly runId: string;
  readonly index: number;
}

export interface StepStarted extends On {
  readonly type: 'step-started';
  readonly step: number;
  readonly claim: Claim;
}

export interface StepFinished extends On {
  readonly type: 'step-finished';
  readonly step: number;
  readonly content: readonly StepContent[];
  readonly finishReason: string;
  readonly usage: JsonObject;
  readonly response?: JsonObject;
  readonly providerMetadata?: JsonObject;
  readonly warnings?: Json;
}

export interface CallRequested extends On {
  readonly type: 'call-requested';
  readonly toolCallId: string;
  readonly step: number;
  readonly toolName: string;
  /** The arguments as the model wrote them. */
  readonly raw: Json;
  /** What was shown and bound, where it differs from `raw`. */
  readonly args?: Json;
  /** SHA-256 of the stored text of `args`, or of `raw` where there is none. */
  readonly textHash: string;
  readonly fingerprint: string;
  readonly gate: 'free' | 'held' | 'refused';
  readonly error?: CallError;
  readonly approver?: 'owner' | 'reviewer';
  readonly repeatable?: boolean;
  readonly providerOptions?: JsonObject;
  readonly approvalId?: string;
}

interface OnCall extends On {
  readonly toolCallId: string;
}

export interface CallStarted extends OnCall {
  readonly type: 'call-started';
  readonly claim: Claim;
}

export interface CallSuspended extends OnCall {
  readonly type: 'call-suspended';
  readonly stop: number;
  readonly payload: Json;
  readonly resumeSchema?: JsonObject;
  /** What it asks may be answered by the next message of its conversation. */
  readonly autoResume?: true;
}

export interface CallFinished extends OnCall {
  readonly type: 'call-finished';
  readonly result: Json;
  readonly modelOutput?: ModelOutput;
  /** A hook answered in place of `execute`. */
  readonly blocked?: boolean;
}

export interface CallFailed extends OnCall {
  readonly type: 'call-failed';
  readonly error: CallError;
}

export interface CallDecided extends OnCall, Decision {
  readonly type: 'call-decided';
}

export interface CallInterrupted extends OnCall {
  readonly type: 'call-interrupted';
  /** When the attempt began of which nobody knows what came. */
  readonly startedAt: number;
}

export type Event =
  | RunStarted
  | StepStarted
  | StepFinished
  | CallRequested
  | CallStarted
  | CallSuspended
  | CallFinished
  | CallFailed
  | CallDecided
  | CallInterrupted
  | (OnCall & { readonly type: 'call-released' })
  | (OnCall & { readonly type: 'call-cancelled' })
  | (On & { readonly type: 'step-released'; readonly step: number; readonly takenOver?: true })
  | (On & { readonly type: 'step-failed'; readonly step: number; readonly error: RunError })
  | (On & { readonly type: 'run-continued'; readonly by?: Person })
  | (On & { readonly type: 'run-stopped'; readonly step: number })
  | (On & { readonly type: 'cancel-requested'; readonly reason?: string; readonly by?: Person })
  | (On & { readonly type: 'answered-by'; readonly answering: Answering })
  | (On & { readonly type: 'run-ended'; readonly outcome: Outcome });

export function eventText(event: Event): string {
  return `{"v":${eventFormat},${JSON.stringify(event).slice(1)}`;
}

export function eventFrom(text: string): Event {
  const { v: _format, ...event } = JSON.parse(text) as Event & { v: number };
  return event as Event;
}
