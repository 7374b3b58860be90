/** Lists the record of decisions, of open and of ended runs. */
import type { DecisionQuery, ListOrder } from '../core/feed.ts';
import type { DecisionPage, Store } from '../core/store.ts';
import { checkKeys, type KeysOf } from './known-keys.ts';
import { refuseOption } from './refuse-option.ts';

export interface DecisionListOptions
  extends Pick<
    DecisionQuery,
    'agentId' | 'toolName' | 'threadId' | 'resourceId' | 'runId' | 'by' | 'verdict' | 'cursor'
  > {
  /** Both included, on the time of the decision. */
  readonly fromDate?: Date | undefined;
  readonly toDate?: Date | undefined;
  /** Default 'newest' first. */
  readonly order?: ListOrder | undefined;
  /** Default 100. */
  readonly perPage?: number | undefined;
}

const listKeys = {
  agentId: true,
  toolName: true,
  threadId: true,
  resourceId: true,
  runId: true,
  by: true,
  verdict: true,
  cursor: true,
  fromDate: true,
  toDate: true,
  order: true,
  perPage: true,
} as const satisfies KeysOf<DecisionListOptions>;

export const listedVerdicts = ['approve', 'decline', 'resume', 'resolve', 'cancel', 'ran-twice'] as const;
export const listOrders = ['newest', 'oldest'] as const;

/** @throws `invalid-option`. */
export async function listDecisions(store: Store, options: DecisionListOptions = {}): Promise<DecisionPage> {
  checkKeys(options, listKeys, 'listDecisions');
  const { fromDate, toDate, perPage = 100, verdict, order, ...names } = options;
  for (const [name, value] of Object.entries(names)) {
    if (value !== undefined && typeof value !== 'string') refuseOption(name, 'a string');
  }
  for (const [name, value] of Object.entries({ fromDate, toDate })) {
    if (value !== undefined && !(value instanceof Date && Number.isFinite(value.getTime())))
      refuseOption(name, 'a Date');
  }
  if (verdict !== undefined && !listedVerdicts.includes(verdict)) {
    refuseOption('verdict', listedVerdicts.join(', '));
  }
  if (order !== undefined && !listOrders.includes(order)) refuseOption('order', listOrders.join(', '));
  if (!Number.isInteger(perPage) || perPage < 1 || perPage > 1000) {
    refuseOption('perPage', 'a whole number from 1 to 1,000');
  }
  return store.decisions({
    ...names,
    verdict,
    order,
    from: fromDate?.getTime(),
    to: toDate?.getTime(),
    limit: perPage,
  });
}
