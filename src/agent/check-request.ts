/** Whether a request to decide, or to act on a run, is well-formed at all. */
import type { DecisionRequest } from '../core/decide.ts';
import { CountersignError } from '../core/errors.ts';
import type { Door } from '../core/event.ts';
import { checkKeys } from './known-keys.ts';

const doors: readonly Door[] = ['http', 'chat', 'thread', 'auto-resume'];

/**
 * Refuses a request that is malformed, whatever the run's state. Keys that nobody knows come first: what is misspelt is
 * not what is missing.
 * @param known the keys of the method, and `where` its name.
 * @throws `invalid-decision`, and `invalid-option` for a key.
 */
export function checkRequest(
  request: Partial<DecisionRequest>,
  known: Readonly<Record<string, true>>,
  where: string,
): void {
  if (typeof request === 'object' && request !== null) checkKeys(request, known, where);
  const refuse = (name: string, expected: string): never => {
    const is =
      (request as Record<string, unknown> | undefined)?.[name] === undefined ? 'missing' : 'malformed';
    throw new CountersignError('invalid-decision', `The ${name} of the decision is ${is}.`, { expected });
  };
  const { runId, toolCallId, stop, fingerprint, reason, decisionId, by, via } = request ?? {};
  if (typeof runId !== 'string' || runId === '') refuse('runId', 'the runId of a run that waits');
  const texts = { toolCallId, fingerprint, reason, decisionId };
  for (const [name, value] of Object.entries(texts)) {
    if (value !== undefined && typeof value !== 'string') refuse(name, 'a string, or nothing');
  }
  if (stop !== undefined && (!Number.isInteger(stop) || stop < 1))
    refuse('stop', 'a whole number from 1, or nothing');
  if (via !== undefined && !doors.includes(via)) refuse('via', `${doors.join(', ')}, or nothing`);
  if (
    by !== undefined &&
    (typeof by?.id !== 'string' || (by.name !== undefined && typeof by.name !== 'string'))
  ) {
    refuse('by', '{ id: string, name?: string }, or nothing');
  }
}
