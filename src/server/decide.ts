/**
 * Owns a decision that comes over HTTP: which fields it may have, and that only those decide who may. Who decides is
 * the identity of the request alone.
 */
import type { Agent } from '../agent/agent.ts';
import type { DecisionOptions } from '../agent/options.ts';
import { CountersignError, type ErrorCode } from '../core/errors.ts';
import { waitingCalls } from '../core/next.ts';
import { anything, callId, count, type Fields, id, required, text } from './field.ts';
import { checkMayDecide, type FoundRun, findRun } from './found-run.ts';
import { type Identity, personOf } from './identity.ts';
import type { ServerParts } from './parts.ts';
import { conversation } from './start-options.ts';

/** What every decision may say. */
export const words: Fields = { stop: count, fingerprint: text, reason: text, decisionId: id };

export const decisionFields: Fields = { runId: required(id), toolCallId: callId, ...words };
export const resumeFields: Fields = {
  ...decisionFields,
  resumeData: required(anything),
  memory: conversation,
};

/** Of the approvals routes: run and call are in the path, and the stop that the person saw is demanded. */
export const approvalFields: Fields = { ...words, stop: required(count) };

/** What every decision may be refused with. */
const refused: readonly ErrorCode[] = [
  ...(['already-decided', 'call-not-found', 'call-not-waiting', 'fingerprint-mismatch'] as const),
  ...(['forbidden', 'run-ended', 'run-not-found', 'stop-mismatch'] as const),
];

export type Verb = 'approve' | 'decline' | 'resume' | 'resolve';

export const refusedWith: Readonly<Record<Verb, readonly ErrorCode[]>> = {
  approve: [...refused, 'call-interrupted', 'needs-data'],
  decline: [...refused, 'call-interrupted'],
  resume: [...refused, 'call-interrupted', 'invalid-resume-data', 'needs-verdict'],
  resolve: [...refused, 'agent-missing', 'needs-data', 'needs-verdict'],
};

type Body = Readonly<Record<string, unknown>>;

/** The words of a checked body, with who says them. */
export function wordsOf(
  body: Body,
  identity: Identity | undefined,
): Pick<DecisionOptions, 'stop' | 'fingerprint' | 'reason' | 'decisionId' | 'by' | 'via'> {
  const given = Object.keys(words).filter((name) => Object.hasOwn(body, name));
  return {
    ...Object.fromEntries(given.map((name) => [name, body[name]])),
    ...personOf(identity),
    via: 'http',
  };
}

/**
 * The decision that a checked body asks for, if its sender may take it.
 * @param verb what may go without a name: a resume, where exactly one call is suspended.
 * @throws `run-not-found`, `call-required`, `call-not-found`, `forbidden`.
 */
export async function decisionOf(
  parts: ServerParts,
  agent: Agent,
  identity: Identity | undefined,
  body: Body,
  verb: 'decide' | 'resume',
): Promise<DecisionOptions & { readonly toolCallId: string }> {
  const { runId, memory } = body as { runId: string; memory?: DecisionOptions['memory'] };
  const found = await findRun(parts, identity, runId, agent.id);
  const named = body.toolCallId as string | undefined;
  const toolCallId = named ?? (verb === 'resume' ? onlySuspended(found) : undefined);
  if (toolCallId === undefined) throw callRequired(runId, verb);
  await checkMayDecide(parts, identity, found, toolCallId);
  return { runId, toolCallId, ...(memory ? { memory } : {}), ...wordsOf(body, identity) };
}

function onlySuspended({ run }: FoundRun): string | undefined {
  const suspended = (run ? waitingCalls(run) : []).filter(({ call }) => call.state === 'suspended');
  return suspended.length === 1 ? suspended[0]?.id : undefined;
}

export function callRequired(runId: string | undefined, verb: 'decide' | 'resume'): CountersignError {
  return new CountersignError('call-required', 'Over HTTP a decision names its call.', {
    runId,
    expected:
      verb === 'resume' ? 'toolCallId, unless exactly one call of the run is suspended' : 'toolCallId',
  });
}
