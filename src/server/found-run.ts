/** Finds what a request is about in the store: the facts that decide who may see and decide it. */

import { acquireAny } from '../agent/legs.ts';
import { type Found, findCall } from '../core/below.ts';
import { CountersignError } from '../core/errors.ts';
import { endedError } from '../core/log-errors.ts';
import type { Run } from '../core/state.ts';
import type { EndedRun } from '../core/store.ts';
import { ownerOf } from '../store/owner.ts';
import type { CallFacts, ReadFacts } from './access.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';

export interface FoundRun {
  readonly facts: ReadFacts & { readonly runId: string; readonly agentId: string };
  /** The run as it is now, while it is open. */
  readonly run?: Run;
  readonly ended?: EndedRun;
}

/**
 * The run, if this identity may see it, and it is of this agent where one is named.
 * @throws `run-not-found`, the same for a run that is not there and one that is somebody else's.
 */
export async function findRun(
  { worker, access }: ServerParts,
  identity: Identity | undefined,
  runId: string,
  agentId?: string,
): Promise<FoundRun> {
  const found = await acquireAny(worker, runId);
  const owner = found.kind === 'lease' ? found.root.run.started : found;
  const run = found.kind === 'lease' ? found.log.run : undefined;
  if (found.kind === 'lease') found.release();
  const facts = {
    runId,
    agentId: run?.started.agentId ?? (found as EndedRun).agentId,
    ...ownerOf(owner),
  };
  const isOther = agentId !== undefined && facts.agentId !== agentId;
  if (isOther || !(await access.mayRead(identity, facts))) throw endedError(runId, undefined);
  return { facts, ...(run ? { run } : { ended: found as EndedRun }) };
}

/** Who must approve a call: stored when the model asked for it. */
export function callFactsOf({ facts }: FoundRun, { id, call }: Found): CallFacts {
  const { toolName, request } = call;
  return { ...facts, toolCallId: id, toolName, approver: request.approver ?? 'owner' };
}

/**
 * Lets only those go on who may decide the call. Of a run that has ended nothing can be decided; who could have is told
 * what its records say.
 * @throws `call-not-found`, `forbidden`.
 */
export async function checkMayDecide(
  { access }: ServerParts,
  identity: Identity | undefined,
  found: FoundRun,
  toolCallId: string,
): Promise<void> {
  const facts = found.run ? openFacts(found, found.run, toolCallId) : recordedFacts(found, toolCallId);
  if (facts === undefined) return;
  if (await access.mayDecide(identity, facts)) return;
  const { runId, agentId, toolName } = facts;
  throw new CountersignError('forbidden', 'You may not decide this call.', {
    runId,
    agentId,
    toolCallId,
    toolName,
    expected:
      facts.approver === 'reviewer'
        ? 'a reviewer who does not own the run'
        : 'the owner of the run, or a reviewer',
  });
}

function openFacts(found: FoundRun, run: Run, toolCallId: string): CallFacts {
  const call = findCall(run, toolCallId);
  if (call === undefined) throw callNotFound(found.facts, toolCallId);
  return callFactsOf(found, call);
}

export function callNotFound(
  { runId, agentId }: { readonly runId: string; readonly agentId: string },
  toolCallId: string,
): CountersignError {
  return new CountersignError('call-not-found', `There is no call "${toolCallId}" in this run.`, {
    runId,
    agentId,
    toolCallId,
    expected: 'a toolCallId of this run, as announced or listed',
  });
}

/** Undefined for a call of which nothing is recorded. Old records do not say who had to decide. */
function recordedFacts({ facts, ended }: FoundRun, toolCallId: string): CallFacts | undefined {
  const record = ended?.records.find((one) => one.toolCallId === toolCallId);
  if (record === undefined) return undefined;
  const { toolName, approver = 'owner', path } = record;
  return { ...facts, toolCallId, toolName, approver, ...(path ? { path } : {}) };
}

/** @throws `forbidden` for who may only see the run. */
export function checkMayMove(
  { access }: ServerParts,
  identity: Identity | undefined,
  facts: FoundRun['facts'],
): void {
  if (access.mayMove(identity, facts)) return;
  const { runId, agentId } = facts;
  throw new CountersignError('forbidden', 'You may see this run, and not move or end it.', {
    runId,
    agentId,
    expected: 'the owner of the run, or a reviewer',
  });
}
