/** Owns how errors become answers: JSON `{ error, code, status, … }`, and 500 only for what is our own fault. */
import { type CountersignError, isCountersignError } from '../core/errors.ts';

/** What a schema or a route found wrong with one field. */
export interface Issue {
  /** The path of the field; '' for the whole. */
  readonly field: string;
  readonly message: string;
}

/** What is answered to somebody whose request failed for a reason that is not theirs to know. */
const internal = { error: 'Something went wrong here.', code: 'internal', status: 500 } as const;

/** The body of the answer to an error. */
export function problemOf(error: unknown): Record<string, unknown> & { readonly status: number } {
  if (!isCountersignError(error)) return { ...internal };
  const { issues, ...body } = error.toJSON() as Record<string, unknown> & { status: number };
  return { ...body, ...(Array.isArray(issues) ? { issues: issues.map(issueOf) } : {}) };
}

export function problemResponse(error: unknown): Response {
  const body = problemOf(error);
  const headers = new Headers();
  const { retryAfter } = isCountersignError(error) ? error.details : {};
  if (retryAfter !== undefined) headers.set('retry-after', String(retryAfter));
  if (body.status === 401) headers.set('www-authenticate', 'Bearer');
  return Response.json(body, { status: body.status, headers });
}

/** Issues are written `path: message`. */
function issueOf(text: string): Issue {
  const [, field = '', message = text] = /^(\S+): (.*)$/s.exec(text) ?? [];
  return { field, message };
}

/** As a chunk shows it: an `Error` alone would be `{}`. */
export function errorInChunk(error: Error | CountersignError): Record<string, unknown> {
  if (!isCountersignError(error)) return { name: error.name, message: error.message };
  const { error: message, ...facts } = problemOf(error);
  return { name: error.name, message, ...facts };
}
