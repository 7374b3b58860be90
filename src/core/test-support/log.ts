/** Logs on a store, for tests of `commit`. */
import type { Event } from '../event.ts';
import { type Listener, type LogPorts, loadLog, type RunLog, startLog } from '../log.ts';
import type { Store } from '../store.ts';
import { me, requested, runId, runStarted, stepFinished } from './events.ts';
import { fakeClock } from './parts.ts';

let batches = 0;

export function portsOf(store: Store) {
  const clock = fakeClock();
  const warnings: string[] = [];
  const ports: LogPorts = {
    store,
    clock,
    rowsOf: () => [],
    newBatchId: () => `batch-${++batches}`,
    alive: () => undefined,
    monotonic: () => 0,
    warn: (message) => warnings.push(message),
  };
  return { ports, clock, warnings };
}

export const asksFor = (...requests: ReturnType<typeof requested>[]): Event[] => [
  stepFinished(
    0,
    requests.map((request) => request.toolCallId),
  ),
  ...requests,
];

/** A run that waits: c1 is held, c2 is held. */
export async function pausedLog(store: Store) {
  const setting = portsOf(store);
  const log = startLog(setting.ports, runStarted());
  await log.commit(() => [], { me });
  await log.commit(() => asksFor(requested('c1', 'held'), requested('c2', 'held')), { me });
  return { ...setting, log };
}

export const loaded = async (store: Store): Promise<RunLog> =>
  (await loadLog(portsOf(store).ports, runId)) as RunLog;

export const propose =
  (...events: Event[]) =>
  () =>
    events;

export function heardFrom(log: RunLog): { types: string[]; gone: unknown[]; listener: Listener } {
  const types: string[] = [];
  const gone: unknown[] = [];
  const listener: Listener = {
    onChanges: (changes) => types.push(...changes.map(({ event }) => event.type)),
    onPassing: (passing) => types.push(`passing ${passing.type}`),
    onGone: (ended) => gone.push(ended),
    onBroken: (error) => gone.push(error),
  };
  log.listen(listener);
  return { types, gone, listener };
}
