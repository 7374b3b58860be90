/**
 * Writes test/crash/fixtures/format-1: runs as this build stores them, each in another state. What is there is never
 * written again, as every later build must drive it to its end.
 *   node test/crash/make-fixtures.ts
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Countersign } from '../../src/agent/countersign.ts';
import { eventFormat } from '../../src/core/event.ts';
import type { Batch, Store } from '../../src/core/store.ts';
import { orderFor, type Scenario } from './desk.ts';
import { openProcess, openShared } from './memory-world.ts';
import { decide, play } from './person.ts';
import { scenarios } from './scenarios.ts';

/** A run as it lies in a store. */
export interface StoredFixture {
  readonly state: string;
  readonly scenario: string;
  readonly runId: string;
  /** The last batch that was written; its `events` are all events of the run. */
  readonly batch: Batch;
  /** All open calls of the index. */
  readonly opened: Batch['opened'];
  /** The decisions that were recorded. */
  readonly records: Batch['records'];
  /** Side effects that had happened, by call. */
  readonly effects: readonly string[];
}

const scenarioOf = (start: string): Scenario =>
  scenarios.find(({ name }) => name.startsWith(start)) as Scenario;

interface Plan {
  readonly state: string;
  readonly scenario: Scenario;
  /** Where the process dies; left out: at the first pause. */
  readonly at?: (events: readonly string[]) => boolean;
  /** How many other processes take it over, each after a lease. All but the last die in their model call. */
  readonly takeovers?: number;
  /** A process without the agent's code approves it. */
  readonly decidedElsewhere?: true;
  /** How many calls the person decides before. */
  readonly decides?: number;
}

const has = (type: string) => (events: readonly string[]) =>
  events.some((text) => text.includes(`"type":"${type}"`));

const plans: readonly Plan[] = [
  { state: 'held', scenario: scenarioOf('one held') },
  { state: 'suspended', scenario: scenarioOf('suspend and resume') },
  { state: 'held-beside-settled', scenario: scenarioOf('three calls mixed') },
  { state: 'half-decided', scenario: scenarioOf('three calls mixed'), decides: 1 },
  { state: 'running', scenario: scenarioOf('one held'), at: has('call-decided') },
  { state: 'interrupted', scenario: scenarioOf('one held'), at: has('call-decided'), takeovers: 1 },
  { state: 'repeatable-running', scenario: scenarioOf('idempotent'), at: has('call-decided') },
  { state: 'in-model-call', scenario: scenarioOf('one held'), at: has('call-finished') },
  { state: 'stalled', scenario: scenarioOf('one held'), at: has('call-finished'), takeovers: 4 },
  { state: 'runnable', scenario: scenarioOf('one held'), decidedElsewhere: true },
  { state: 'second-step', scenario: scenarioOf('two steps'), decides: 1 },
  { state: 'durable-free', scenario: scenarioOf('durable, without'), at: has('step-finished') },
  { state: 'held-below', scenario: scenarioOf('team: held below, approved') },
  { state: 'suspended-below', scenario: scenarioOf('team: suspended below') },
  { state: 'half-decided-below', scenario: scenarioOf('team: two delegations'), decides: 1 },
  {
    state: 'interrupted-below',
    scenario: scenarioOf('team: depth 2'),
    at: has('call-decided'),
    takeovers: 1,
  },
];

async function fixtureOf(plan: Plan): Promise<StoredFixture> {
  const runId = `format-${eventFormat}-${plan.state}`;
  const { scenario } = plan;
  let last: Batch | undefined;
  const events: string[] = [];
  const records: Batch['records'][number][] = [];
  const opened = new Map<string, Batch['opened'][number]>();
  let die: () => void = () => {};
  const spy = (store: Store): Store =>
    new Proxy(store, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (key !== 'create' && key !== 'append')
          return typeof value === 'function' ? value.bind(target) : value;
        return async (batch: Batch) => {
          const answer = await Reflect.apply(value as Store['append'], target, [batch]);
          last = batch;
          events.push(...batch.events);
          records.push(...batch.records);
          for (const { toolCallId } of batch.closed) opened.delete(toolCallId);
          for (const call of batch.opened) opened.set(call.toolCallId, call);
          if (plan.at?.(batch.events)) die();
          return answer;
        };
      },
    });
  const shared = openShared();
  const one = openProcess(shared, undefined, spy);
  die = () => one.store.die();
  if (plan.at) {
    await Promise.race([play(scenario, one.agent, runId, shared.journal), one.died]);
  } else {
    await one.agent.generate(orderFor(scenario, runId), { runId, ...scenario.options });
    for (let decided = 0; decided < (plan.decides ?? 0); decided++) {
      const [call] = (await one.agent.listSuspendedRuns()).runs[0]?.toolCalls ?? [];
      if (call) await decide(one.agent, runId, call, shared.journal);
    }
  }
  for (let takeover = 1; takeover <= (plan.takeovers ?? 0); takeover++) {
    shared.now += 60_000;
    const next = openProcess(shared, { phase: 1 }, spy);
    await next.countersign.sweep();
    await Promise.race([next.atRest(), next.died]);
  }
  if (plan.decidedElsewhere) {
    const call = [...opened.values()][0];
    const front = new Countersign({ agents: {}, storage: spy(shared.store) });
    if (call) await front.decideToolCall({ verdict: 'approve', runId, toolCallId: call.toolCallId });
  }
  return {
    state: plan.state,
    scenario: scenario.name,
    runId,
    batch: { ...(last as Batch), events },
    opened: [...opened.values()],
    records,
    effects: shared.journal
      .read(runId)
      .flatMap((entry) => (entry.type === 'effect' ? [entry.toolCallId] : [])),
  };
}

if (process.argv[1] === import.meta.filename) {
  const folder = join(import.meta.dirname, 'fixtures', `format-${eventFormat}`);
  mkdirSync(folder, { recursive: true });
  for (const plan of plans) {
    const path = join(folder, `${plan.state}.json`);
    if (existsSync(path)) continue;
    writeFileSync(path, `${JSON.stringify(await fixtureOf(plan), undefined, 2)}\n`);
  }
  process.exit(0);
}
