/** What waits, from the store alone: a reviewer's page after any restart (specification: resume after a restart). */

import type { PathStep } from '../core/below.ts';
import { type CallInterrupted, type CallRequested, type CallSuspended, eventFrom } from '../core/event.ts';
import type { ListOrder } from '../core/feed.ts';
import type { SuspendPayload } from '../core/policy.ts';
import type { ListedRun, ListStatus, OpenCall } from '../core/store.ts';
import { ownerOf } from '../store/owner.ts';
import { decisionSchema } from '../stream/chunk.ts';
import { listOrders } from './decisions.ts';
import { checkKeys, type KeysOf } from './known-keys.ts';
import { checkPage, refuseOption } from './refuse-option.ts';
import type { AgentCore } from './types.ts';
import type { Worker } from './worker.ts';

export interface ListOptions {
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  /** On `suspendedAt`, both included. */
  readonly fromDate?: Date | undefined;
  readonly toDate?: Date | undefined;
  /** Default 'suspended': runs with calls that a decision can move now. */
  readonly status?: ListStatus | undefined;
  /** Runs per page, 1 to 1,000. Default 100. */
  readonly perPage?: number | undefined;
  /** From 0. For deeper pages use `cursor`. */
  readonly page?: number | undefined;
  /** Which stop comes first. Default 'newest'. */
  readonly order?: ListOrder | undefined;
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
}

export interface ListedCall {
  readonly toolCallId: string;
  readonly stop: number;
  readonly state: 'held' | 'suspended' | 'interrupted';
  readonly toolName: string;
  readonly args: SuspendPayload;
  /** The delegations that lead to a call of a sub-agent; its `toolCallId` is then qualified. */
  readonly path?: readonly PathStep[];
  /** True: approve or decline. False: resume with data. */
  readonly requiresApproval: boolean;
  readonly fingerprint: string;
  /** Who may decide it, where a server asks: the owner of the run unless it says 'reviewer'. */
  readonly approver?: 'owner' | 'reviewer';
  readonly suspendPayload?: SuspendPayload;
  /** Interrupted: when the attempt began of which nobody knows what came. */
  readonly startedAt?: Date;
  /** JSON Schema, as a JSON string, of what decides or resumes. */
  readonly resumeSchema?: string;
}

export interface SuspendedRun {
  readonly runId: string;
  readonly status: Exclude<ListStatus, 'all'>;
  readonly threadId?: string;
  readonly resourceId?: string;
  /** When its newest stop began. */
  readonly suspendedAt: Date;
  readonly toolCalls: readonly ListedCall[];
}

export interface SuspendedRuns {
  /** Newest stop first, or the other way round. */
  readonly runs: readonly SuspendedRun[];
  /** How many runs there are; exact up to 1,000. */
  readonly total: number;
  readonly totalIsAtLeast?: true;
  /** Given when there is another page. */
  readonly cursor?: string;
}

/** Runs that one list takes over at most: it must answer soon. */
const takenAtOnce = 20;

const listKeys = {
  threadId: true,
  resourceId: true,
  fromDate: true,
  toDate: true,
  status: true,
  perPage: true,
  page: true,
  cursor: true,
  order: true,
} as const satisfies KeysOf<ListOptions>;

const statuses = ['suspended', 'interrupted', 'stalled', 'running', 'all'];

export async function listRuns(agent: AgentCore, options: ListOptions): Promise<SuspendedRuns> {
  checkKeys(options, listKeys, 'listSuspendedRuns');
  const {
    perPage = 100,
    page = 0,
    status = 'suspended',
    order,
    cursor,
    threadId,
    resourceId,
    fromDate,
    toDate,
  } = options;
  checkPage({ perPage, page });
  if (!statuses.includes(status)) refuseOption('status', statuses.join(', '));
  if (order !== undefined && !listOrders.includes(order)) refuseOption('order', listOrders.join(', '));
  for (const [name, value] of Object.entries({ threadId, resourceId, cursor })) {
    if (value !== undefined && typeof value !== 'string') refuseOption(name, 'a string');
  }
  for (const [name, value] of Object.entries({ fromDate, toDate })) {
    if (value !== undefined && !(value instanceof Date && Number.isFinite(value.getTime())))
      refuseOption(name, 'a Date');
  }
  const query = {
    agentId: agent.id,
    threadId,
    resourceId,
    status,
    order,
    from: fromDate?.getTime(),
    to: toDate?.getTime(),
    limit: perPage,
    offset: page * perPage,
    cursor,
  };
  const { worker } = agent.binding();
  await takeOverAbandoned(worker, [agent.id]);
  const found = await worker.store.list(query);
  return {
    runs: found.runs.map(suspendedRun),
    total: found.total,
    ...(found.totalIsAtLeast ? { totalIsAtLeast: true } : {}),
    ...(found.cursor === undefined ? {} : { cursor: found.cursor }),
  };
}

/** What dead workers left is listed as what it is: interrupted, not running. */
export async function takeOverAbandoned(worker: Worker, agentIds: readonly string[]): Promise<void> {
  const abandoned = await worker.store.workers.abandoned(worker.lease, takenAtOnce, agentIds);
  for (const { runId } of abandoned) {
    const found = await worker.acquire(runId);
    if (found?.kind === 'lease') found.release();
  }
}

/** A run of the list, with what its calls wait for. */
export function suspendedRun({ runId, status, since, calls, ...owner }: ListedRun): SuspendedRun {
  return {
    runId,
    status,
    ...ownerOf(owner),
    suspendedAt: new Date(since),
    toolCalls: calls.map(({ call, request, suspension }) =>
      listedCall(
        call,
        eventFrom(request) as CallRequested,
        suspension === undefined ? undefined : (eventFrom(suspension) as CallSuspended | CallInterrupted),
      ),
    ),
  };
}

function listedCall(
  call: OpenCall,
  request: CallRequested,
  stopped: CallSuspended | CallInterrupted | undefined,
): ListedCall {
  const suspension = stopped?.type === 'call-suspended' ? stopped : undefined;
  const resumeSchema =
    call.kind === 'held'
      ? decisionSchema
      : suspension?.resumeSchema && JSON.stringify(suspension.resumeSchema);
  return {
    toolCallId: call.toolCallId,
    stop: call.stop,
    state: call.kind,
    toolName: call.toolName,
    args: request.args === undefined ? request.raw : request.args,
    ...(call.path ? { path: call.path } : {}),
    requiresApproval: call.kind === 'held',
    fingerprint: request.fingerprint,
    ...(request.approver ? { approver: request.approver } : {}),
    ...(suspension ? { suspendPayload: suspension.payload } : {}),
    ...(stopped?.type === 'call-interrupted' ? { startedAt: new Date(stopped.startedAt) } : {}),
    ...(resumeSchema ? { resumeSchema } : {}),
  };
}
