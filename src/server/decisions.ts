/** The record of decisions, of those runs that the asker may see. */
import { type DecisionListOptions, listDecisions, listedVerdicts, listOrders } from '../agent/decisions.ts';
import type { DecisionPage, ListedDecision } from '../core/store.ts';
import { pagesAtMost } from './approvals.ts';
import { cursor, digits, type Fields, id, moment, oneOf } from './field.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';

export const decisionsFields: Fields = {
  agentId: id,
  toolName: id,
  threadId: id,
  resourceId: id,
  runId: id,
  by: id,
  verdict: oneOf(...listedVerdicts),
  fromDate: moment,
  toDate: moment,
  order: oneOf(...listOrders),
  perPage: digits,
  cursor,
};

/** @throws `forbidden` for the resource of somebody else, `invalid-option`. */
export async function readDecisions(
  { worker, access }: ServerParts,
  identity: Identity | undefined,
  { fromDate, toDate, perPage, ...query }: Readonly<Record<string, string>>,
): Promise<Omit<DecisionPage, 'total'> & Partial<DecisionPage>> {
  const scope = access.scopeOf(identity, query.resourceId);
  if (scope === 'nothing') return { decisions: [], total: 0 };
  const options: DecisionListOptions = {
    ...query,
    ...scope,
    ...(fromDate === undefined ? {} : { fromDate: new Date(fromDate) }),
    ...(toDate === undefined ? {} : { toDate: new Date(toDate) }),
    ...(perPage === undefined ? {} : { perPage: Number(perPage) }),
  };
  if (!access.looksAtEach) return listDecisions(worker.store, options);
  const decisions: ListedDecision[] = [];
  let at = query.cursor;
  for (let pages = 1; ; pages++) {
    const page = await listDecisions(worker.store, { ...options, cursor: at });
    for (const decision of page.decisions) {
      if (await access.mayRead(identity, decision)) decisions.push(decision);
    }
    at = page.cursor;
    if (at !== undefined && decisions.length === 0 && pages < pagesAtMost) continue;
    // How many others there are is not told.
    return { decisions, ...(at === undefined ? {} : { cursor: at }) };
  }
}
