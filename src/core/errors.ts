/**
 * Every error code with the HTTP status that a server answers with. The set is closed.
 */
const statusOf = {
  'agent-missing': 422,
  'agent-not-found': 404,
  'already-decided': 409,
  'ambiguous-run': 409,
  'call-interrupted': 409,
  'call-not-found': 404,
  'call-not-waiting': 409,
  'call-required': 422,
  'context-conflict': 422,
  'dependency-missing': 500,
  'fingerprint-mismatch': 409,
  forbidden: 403,
  'invalid-agent': 400,
  'invalid-decision': 400,
  'invalid-message': 400,
  'invalid-object': 502,
  'invalid-option': 400,
  'invalid-request': 400,
  'invalid-resume-data': 422,
  'invalid-tool': 400,
  'memory-required': 422,
  'model-failed': 502,
  'model-unavailable': 500,
  'needs-data': 422,
  'needs-verdict': 422,
  'not-json': 422,
  'option-missing': 422,
  'route-not-found': 404,
  'run-ended': 410,
  'run-exists': 409,
  'run-not-found': 404,
  'run-not-stalled': 409,
  'run-stalled': 409,
  'server-closing': 503,
  'stop-mismatch': 409,
  'store-closed': 503,
  'store-failed': 503,
  'stream-overflow': 413,
  'taken-over': 409,
  'thread-not-found': 404,
  'thread-required': 422,
  'thread-waiting': 409,
  'too-large': 413,
  'too-many-requests': 429,
  unauthenticated: 401,
} as const;

export type ErrorCode = keyof typeof statusOf;

/** The ids and facts that an error carries beside its message. Never argument values. */
export interface ErrorDetails {
  readonly agentId?: string | undefined;
  readonly runId?: string | undefined;
  readonly toolCallId?: string | undefined;
  /** `thread-waiting`: the calls that wait. */
  readonly toolCallIds?: readonly string[] | undefined;
  readonly threadId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly stop?: number | undefined;
  /** What was expected, in words. */
  readonly expected?: string | undefined;
  /** What the caller can do now, in words. */
  readonly todo?: string | undefined;
  /** The names of options that must be passed again (`option-missing`). */
  readonly missing?: readonly string[] | undefined;
  /** The decision that won (`already-decided`), as it is recorded. */
  readonly decision?: unknown;
  /** `already-decided`: true when the run is stalled and `continueRun` would try it again. */
  readonly stalled?: boolean | undefined;
  /** `run-ended`: how the run ended. */
  readonly outcome?: unknown;
  /** Schema issues, as `path: message`, without values. */
  readonly issues?: readonly string[] | undefined;
  /** `too-many-requests`: seconds to wait. */
  readonly retryAfter?: number | undefined;
  /** `invalid-object`: what the model answered. */
  readonly text?: string | undefined;
  readonly cause?: unknown;
}

const marker = Symbol.for('countersign.error');

/**
 * The one error class. `code` says what happened, `status` is its HTTP status, `details` holds the ids involved,
 * what was expected and what to do.
 */
export class CountersignError extends Error {
  override readonly name = 'CountersignError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: ErrorDetails;
  readonly [marker] = true;

  constructor(code: ErrorCode, what: string, details: ErrorDetails = {}) {
    const sentences = [what, details.expected && `Expected: ${details.expected}.`, details.todo];
    super(
      sentences.filter(Boolean).join(' '),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.code = code;
    this.status = statusOf[code];
    this.details = details;
  }

  get runId(): string | undefined {
    return this.details.runId;
  }

  get toolCallId(): string | undefined {
    return this.details.toolCallId;
  }

  /** `already-decided`: the decision that won, as it is recorded. */
  get decision(): unknown {
    return this.details.decision;
  }

  toJSON(): Record<string, unknown> {
    const { cause: _cause, ...details } = this.details;
    return { error: this.message, code: this.code, status: this.status, ...details };
  }
}

/** True for a CountersignError, also one made by another copy of the package. With `code`, only for that code. */
export function isCountersignError(error: unknown, code?: ErrorCode): error is CountersignError {
  return (
    typeof error === 'object' &&
    error !== null &&
    (error as { [marker]?: unknown })[marker] === true &&
    (code === undefined || (error as CountersignError).code === code)
  );
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : thrown;
  return typeof message === 'string' && message.trim() !== '' ? message : 'an error without a message';
}
