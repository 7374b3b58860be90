/**
 * What the client throws, whatever went wrong: what the server said, that no server answered, or that something else
 * did. What aborts a request is thrown as it is.
 */
import type { ErrorCode, ErrorDetails } from '../core/errors.ts';

/** What a schema or a route found wrong with one field. */
export interface Issue {
  /** The path of the field; '' for the whole. */
  readonly field: string;
  readonly message: string;
}

/**
 * The server's codes, and three more: `internal`, an error of the server that it tells nothing of; `connection-failed`,
 * no answer, or one that broke off; `bad-answer`, an answer of something that is no Countersign server.
 */
export type ClientErrorCode = ErrorCode | 'internal' | 'connection-failed' | 'bad-answer';

/** The JSON of an error, as the server sends it. */
export interface Problem extends Omit<ErrorDetails, 'cause' | 'issues'> {
  /** What happened, what was expected, and what to do. */
  readonly error: string;
  readonly code: ClientErrorCode;
  readonly status: number;
  readonly issues?: readonly Issue[] | undefined;
}

/** Shared with the errors of `countersign`, so that its `isCountersignError` knows these, too. */
const marker = Symbol.for('countersign.error');

/** The one error class of the client: what `CountersignError` is in the process of the agents. */
export class CountersignClientError extends Error {
  override readonly name = 'CountersignClientError';
  readonly code: ClientErrorCode;
  /** The HTTP status; 503 where there was no answer, and 500 where a success is none of a server of ours. */
  readonly status: number;
  /** The ids involved, what was expected, what to do: those that the server threw. */
  readonly details: ErrorDetails;
  /** `invalid-request`: what is wrong with each field. */
  readonly issues: readonly Issue[];
  readonly [marker] = true;

  constructor({ error, code, status, issues = [], ...details }: Problem, cause?: unknown) {
    super(error, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.issues = issues;
    const texts = issues.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`));
    this.details = { ...details, ...(texts.length > 0 ? { issues: texts } : {}) };
  }

  get runId(): string | undefined {
    return this.details.runId;
  }

  get toolCallId(): string | undefined {
    return this.details.toolCallId;
  }

  /** What was expected, in words. */
  get expected(): string | undefined {
    return this.details.expected;
  }

  /** What you can do now, in words. */
  get todo(): string | undefined {
    return this.details.todo;
  }

  /** `already-decided`: the decision that won, as it is recorded. */
  get decision(): unknown {
    return this.details.decision;
  }

  toJSON(): Record<string, unknown> {
    const { issues: _texts, ...details } = this.details;
    const { message: error, code, status, issues } = this;
    return { error, code, status, ...details, ...(issues.length > 0 ? { issues } : {}) };
  }
}

/** No answer, or one that broke off. */
export function connectionFailed(what: string, details: ErrorDetails = {}): CountersignClientError {
  const { cause, issues: _none, ...facts } = details;
  const error = facts.todo ? `${what} ${facts.todo}` : what;
  return new CountersignClientError({ error, code: 'connection-failed', status: 503, ...facts }, cause);
}

/** An answer that no Countersign server gives. What it says is not repeated: it may be a whole page. */
export function badAnswer({ status }: Pick<Response, 'status'>, expected: string): CountersignClientError {
  const todo = 'Look at baseUrl, and at what stands between you and the server.';
  const error = `Something else than a Countersign server answered, with status ${status}. Expected: ${expected}. ${todo}`;
  return new CountersignClientError({
    error,
    code: 'bad-answer',
    status: status >= 400 ? status : 500,
    expected,
    todo,
  });
}

/** The error that an answer tells. */
export async function errorOf(response: Response): Promise<CountersignClientError> {
  const problem = parsed(await response.text().catch(() => ''));
  if (!isProblem(problem)) return badAnswer(response, 'JSON with error, code and status');
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new CountersignClientError({
    ...problem,
    status: response.status,
    ...(Number.isFinite(after) ? { retryAfter: after } : {}),
  });
}

function isProblem(value: unknown): value is Problem {
  const { error, code, issues = [] } = (value ?? {}) as Record<string, unknown>;
  return typeof error === 'string' && typeof code === 'string' && Array.isArray(issues);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
