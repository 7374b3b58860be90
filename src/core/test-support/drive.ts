/** A log whose events are kept, and the parts of a drive on it. */
import type { Event } from '../event.ts';
import { type Passing, startLog } from '../log.ts';
import type { Parts } from '../parts.ts';
import { type Tool, type ToolOptions, toolOf } from '../tool.ts';
import { runStarted } from './events.ts';
import { partsOf, responseOf, schemaOf, scriptedPort, textPart } from './parts.ts';
import { type TestStore, testStore } from './store.ts';

let batches = 0;

export function begin(started = runStarted(), store: TestStore = testStore()) {
  const log = startLog(
    {
      store,
      clock: { now: () => 1000, sleep: async () => {} },
      rowsOf: () => [],
      newBatchId: () => `batch-${++batches}`,
      alive: () => undefined,
      monotonic: () => 0,
      warn: () => {},
    },
    started,
  );
  const events: Event[] = [];
  const passed: Passing[] = [];
  log.listen({
    onChanges: (changes) => events.push(...changes.map(({ event }) => event)),
    onPassing: (passing) => passed.push(passing),
    onGone: () => {},
    onBroken: () => {},
  });
  const typesOf = () => events.map((event) => event.type);
  return { log, store, events, passed, typesOf };
}

export const tool = (id: string, over: Partial<ToolOptions> = {}): Tool =>
  toolOf({ id, inputSchema: schemaOf(), execute: () => `${id} done`, ...over } as ToolOptions);

type Answers = Parameters<typeof scriptedPort>[0];

export function partsFor(tools: readonly Tool[], answers: Answers, over: Partial<Parts> = {}) {
  const model = scriptedPort(answers);
  return { ...partsOf(tools, { model, ...over }), model };
}

/** An answer that asks for nothing more. */
export const done = responseOf(textPart('Done.'));
