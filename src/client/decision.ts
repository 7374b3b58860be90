/** Owns that a decision is safe to send again: it always has an id. */
import type { RequestOptions } from './transport.ts';

export interface DecisionWords extends RequestOptions {
  /** What the person saw: another call is refused. */
  readonly fingerprint?: string | undefined;
  readonly reason?: string | undefined;
  /** The same id is the same decision, however often it is sent. Left out, a new one is made. */
  readonly decisionId?: string | undefined;
}

/** A decision as a request that may be sent again. */
export function decisionBody<Decision extends DecisionWords>({ abortSignal, ...decision }: Decision) {
  const { decisionId = newDecisionId() } = decision;
  return { body: { ...decision, decisionId }, abortSignal, isRepeatable: true } as const;
}

function newDecisionId(): string {
  // Not `randomUUID`: pages that came over plain http have none.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
