/** What waits for a person, over all agents of the store, and single calls with their decisions. */

import { listOrders } from '../agent/decisions.ts';
import { type ListedCall, suspendedRun, takeOverAbandoned } from '../agent/list.ts';
import { refuseOption } from '../agent/refuse-option.ts';
import { decisionRecord } from '../core/batch.ts';
import { findCall } from '../core/below.ts';
import { withoutValues } from '../core/decide.ts';
import type { ListOrder } from '../core/feed.ts';
import type { ListedRun, ListStatus } from '../core/store.ts';
import { ownerOf } from '../store/owner.ts';
import { waitingCallsOf } from '../stream/result.ts';
import type { CallFacts } from './access.ts';
import { cursor, digits, type Fields, id, moment, oneOf } from './field.ts';
import { callFactsOf, callNotFound, findRun } from './found-run.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';

export const approvalsFields: Fields = {
  agentId: id,
  toolName: id,
  threadId: id,
  resourceId: id,
  status: oneOf('suspended', 'interrupted', 'all'),
  order: oneOf(...listOrders),
  fromDate: moment,
  toDate: moment,
  perPage: digits,
  cursor,
};

/** A call that waits. */
export interface Approval extends ListedCall {
  readonly runId: string;
  readonly agentId: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly approver: 'owner' | 'reviewer';
  /** When this stop began. */
  readonly since: Date;
}

export interface Approvals {
  /** Those of the run that stopped last first, or with `order: 'oldest'` the other way round. */
  readonly approvals: readonly Approval[];
  /** How many runs there are, up to 1,000; left out where not every one of them is shown. */
  readonly total?: number;
  readonly totalIsAtLeast?: true;
  /** Given when there is another page. */
  readonly cursor?: string;
}

type MaybeUndefined<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

/** One call as it stands, or as it was when its run ended. */
export interface ApprovalDetails extends MaybeUndefined<Omit<Approval, CallKeys | 'state'>> {
  readonly runId: string;
  readonly agentId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly fingerprint: string;
  readonly state: string | undefined;
  readonly decisions: readonly object[];
  readonly mayDecide: boolean;
}

type CallKeys = 'runId' | 'agentId' | 'toolCallId' | 'toolName' | 'fingerprint';

/** Pages of the store that one request looks through for something to show. */
export const pagesAtMost = 20;

/** @throws `forbidden` for the resource of somebody else, `invalid-option`. */
export async function listApprovals(
  { worker, agents, access }: ServerParts,
  identity: Identity | undefined,
  query: Readonly<Record<string, string>>,
): Promise<Approvals> {
  const { agentId, threadId, toolName, status = 'suspended', order, fromDate, toDate } = query;
  const scope = access.scopeOf(identity, query.resourceId);
  if (scope === 'nothing') return { approvals: [] };
  const limit = Number(query.perPage ?? 100);
  if (limit < 1 || limit > 1000) {
    refuseOption('perPage', 'a whole number from 1 to 1,000');
  }
  await takeOverAbandoned(worker, [...agents.keys()]);
  const asked = {
    agentId,
    threadId,
    ...scope,
    status: status as ListStatus,
    order: order as ListOrder | undefined,
    ...(fromDate === undefined ? {} : { from: Date.parse(fromDate) }),
    ...(toDate === undefined ? {} : { to: Date.parse(toDate) }),
    limit,
  };
  const approvals: Approval[] = [];
  let { cursor } = query;
  for (let pages = 1; ; pages++) {
    const page = await worker.store.list({ ...asked, cursor });
    for (const run of page.runs) {
      if (access.looksAtEach && !(await access.mayRead(identity, run))) continue;
      approvals.push(...approvalsOf(run).filter((call) => (toolName ?? call.toolName) === call.toolName));
    }
    cursor = page.cursor;
    const isPart = toolName !== undefined || access.looksAtEach || status === 'all';
    if (cursor !== undefined && approvals.length === 0 && isPart && pages < pagesAtMost) continue;
    const { total, totalIsAtLeast } = page;
    return {
      approvals,
      ...(isPart ? {} : { total, ...(totalIsAtLeast ? { totalIsAtLeast } : {}) }),
      ...(cursor === undefined ? {} : { cursor }),
    };
  }
}

function approvalsOf(run: ListedRun): Approval[] {
  const { runId, agentId } = run;
  return suspendedRun(run).toolCalls.map((call, index) => ({
    runId,
    agentId,
    ...ownerOf(run),
    approver: 'owner',
    ...call,
    since: new Date(run.calls[index]?.call.since ?? run.since),
  }));
}

/**
 * One call as it stands, with its decisions, and whether the asker may decide it.
 * @throws `run-not-found`, `call-not-found`.
 */
export async function readApproval(
  parts: ServerParts,
  identity: Identity | undefined,
  { runId, toolCallId }: { readonly runId: string; readonly toolCallId: string },
): Promise<ApprovalDetails> {
  const found = await findRun(parts, identity, runId);
  const { facts, run, ended } = found;
  if (run === undefined) {
    const records = (ended?.records ?? []).filter((record) => record.toolCallId === toolCallId);
    const last = records.at(-1);
    if (last === undefined) throw callNotFound(facts, toolCallId);
    const { toolName, args, fingerprint, outcome } = last;
    const state = outcome?.state;
    const decisions = records.map(withoutValues);
    return { ...facts, toolCallId, toolName, args, fingerprint, state, decisions, mayDecide: false };
  }
  const called = findCall(run, toolCallId);
  if (called === undefined) throw callNotFound(facts, toolCallId);
  const { call } = called;
  const callFacts: CallFacts = callFactsOf(found, called);
  const waiting = waitingCallsOf(run).find((one) => one.toolCallId === toolCallId);
  return {
    ...callFacts,
    state: call.state,
    stop: call.stop,
    args: call.args,
    fingerprint: call.request.fingerprint,
    ...waiting,
    since: new Date(call.since),
    decisions: call.decisions.map((decision) => withoutValues(decisionRecord(run, decision))),
    mayDecide: waiting !== undefined && (await parts.access.mayDecide(identity, callFacts)),
  };
}
