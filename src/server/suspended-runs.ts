/** Lists an agent's runs that wait, of those that the asker may see. */
import type { Agent } from '../agent/agent.ts';
import type { SuspendedRun, SuspendedRuns } from '../agent/list.ts';
import { cursor, digits, type Fields, id, moment, oneOf } from './field.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';

export const pageFields: Fields = { perPage: digits, page: digits, cursor };
export const listFields: Fields = {
  threadId: id,
  resourceId: id,
  fromDate: moment,
  toDate: moment,
  status: oneOf('suspended', 'interrupted', 'stalled', 'running', 'all'),
  ...pageFields,
};

type Query = Readonly<Record<string, string>>;

/** The numbers of a checked query. */
export function pageOf({ perPage, page }: Query): { perPage?: number; page?: number } {
  return {
    ...(perPage === undefined ? {} : { perPage: Number(perPage) }),
    ...(page === undefined ? {} : { page: Number(page) }),
  };
}

/** @throws `forbidden` for the resource of somebody else. */
export async function suspendedRuns(
  { access }: ServerParts,
  agent: Agent,
  identity: Identity | undefined,
  query: Query,
): Promise<SuspendedRuns> {
  const { threadId, status, cursor, fromDate, toDate } = query;
  const scope = access.scopeOf(identity, query.resourceId);
  if (scope === 'nothing') return { runs: [], total: 0 };
  const found = await agent.listSuspendedRuns({
    ...scope,
    threadId,
    status: status as SuspendedRun['status'] | undefined,
    cursor,
    ...pageOf(query),
    ...(fromDate === undefined ? {} : { fromDate: new Date(fromDate) }),
    ...(toDate === undefined ? {} : { toDate: new Date(toDate) }),
  });
  if (!access.looksAtEach) return found;
  const seen: SuspendedRun[] = [];
  for (const run of found.runs) {
    if (await access.mayRead(identity, { ...run, agentId: agent.id })) seen.push(run);
  }
  // How many others there are is not told.
  const { cursor: next } = found;
  return { runs: seen, total: seen.length, ...(next ? { totalIsAtLeast: true, cursor: next } : {}) };
}
