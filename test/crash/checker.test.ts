/** The checker of the crash matrix, fed with stores that are broken: it must say what is wrong. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { dropsClaims, ignoresVersion, losesLastWrite, recreates } from './broken-stores.ts';
import { evidenceOf, problemsOf } from './check.ts';
import { orderFor, type Scenario } from './desk.ts';
import { crash, openProcess, openShared, pointsOf } from './memory-world.ts';
import { decide, play } from './person.ts';
import { lostIn } from './recover.ts';
import { scenarios } from './scenarios.ts';

const oneHeld = scenarios.find(({ name }) => name === 'one held call, approved') as Scenario;

const heldBelow = scenarios.find(({ name }) => name === 'team: held below, approved') as Scenario;

/** What is found over all points of a scenario, without the names of the points. */
async function foundWith(
  wraps: Parameters<typeof crash>[2],
  scenario: Scenario = oneHeld,
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const at of await pointsOf(scenario)) {
    for (const problem of (await crash(scenario, at, wraps)).problems) found.add(problem);
  }
  return found;
}

test('with claims disabled, doubles appear', async () => {
  expect(await foundWith({ process: dropsClaims })).toContain('pay-a happened 2 times');
  const below = await foundWith({ process: dropsClaims }, heldBelow);
  expect(below).toContain('to-helper-1~pay-a happened 2 times');
});

test('a store that loses its last write is found', async () => {
  const found = [...(await foundWith({ process: losesLastWrite }))];
  expect(found).toContainEqual(expect.stringMatching(/acknowledged|announced/));
});

test('a store that keeps its promises is not', async () => {
  expect([...(await foundWith({}))]).toEqual([]);
});

/** Two people on two machines answer the same call at the same time, one yes and one no. */
async function twoDeciders(wrap?: (store: Store) => Store): Promise<string[]> {
  const shared = openShared(wrap);
  const { journal } = shared;
  const [one, other] = [openProcess(shared), openProcess(shared)];
  await one.agent.generate(orderFor(oneHeld, 'run'), { runId: 'run' });
  const call = (await one.agent.listSuspendedRuns()).runs[0]?.toolCalls[0];
  if (call === undefined) return ['nothing waits'];
  const no = { ...call, args: { id: 'no-a' } };
  await Promise.allSettled([
    decide(one.agent, 'run', call, journal),
    decide(other.agent, 'run', no, journal),
  ]);
  const lost = await lostIn(shared.store, 'run', journal).catch((error: unknown) => [String(error)]);
  const evidence = await evidenceOf(shared.store, oneHeld, 'run', journal.read('run'));
  return [...lost, ...problemsOf(evidence)];
}

test('a store that ignores the version is found, as both are told that they won', async () => {
  const bothAsked = /was declined and happened/;
  expect((await twoDeciders()).filter((problem) => !bothAsked.test(problem))).toEqual([]);
  expect(await twoDeciders(ignoresVersion)).toContainEqual(expect.stringMatching(/acknowledged/));
});

describe('a late commit', () => {
  /** The first process comes back when the run is over. */
  async function comesLate(wrap?: (store: Store) => Store): Promise<string[]> {
    const shared = openShared(wrap);
    const { journal } = shared;
    const late = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const first = openProcess(
      shared,
      undefined,
      (store) =>
        new Proxy(store, {
          get(target, key) {
            const value: unknown = Reflect.get(target, key);
            if (key !== 'append') return typeof value === 'function' ? value.bind(target) : value;
            return async (batch: Parameters<Store['append']>[0]) => {
              if (batch.events.some((text) => text.includes('"call-decided"'))) {
                reached.resolve();
                await late.promise;
              }
              return target.append(batch);
            };
          },
        }),
    );
    const playing = play(oneHeld, first.agent, 'run', journal).catch(() => {});
    await reached.promise;
    const second = openProcess(shared);
    const call = (await second.agent.listSuspendedRuns()).runs[0]?.toolCalls[0];
    if (call) await decide(second.agent, 'run', call, journal);
    late.resolve();
    await playing;
    const evidence = await evidenceOf(shared.store, oneHeld, 'run', journal.read('run'));
    return problemsOf(evidence);
  }

  test('to a run that was removed changes nothing', async () => {
    expect(await comesLate()).toEqual([]);
  });

  test('to a store that makes it anew is found', async () => {
    expect(await comesLate(recreates)).toContain('the run is still listed');
  });
});

describe('a journal', () => {
  const base = { scenario: oneHeld, stored: undefined, isListed: false, isAbandoned: false };
  const on = { runId: 'run', toolCallId: 'pay-a' };
  const effect = { ...on, type: 'effect', toolName: 'pay', key: 'k' } as const;
  const asked = (verdict: string) => ({ ...on, type: 'asked', stop: 1, verdict }) as const;
  const told = (output: object) => ({ ...on, type: 'told', output: JSON.stringify(output) }) as const;

  test.each([
    ['an effect that happened twice', [asked('approve'), effect, effect], /happened 2 times/],
    ['an effect of a declined call', [asked('decline'), effect], /declined and happened/],
    ['an effect that nobody allowed', [effect], /nobody had allowed/],
    ['a result without an effect', [told({ type: 'json', value: { by: 'tool' } })], /happened 0 times/],
    [
      'two results of one call',
      [asked('approve'), effect, told({ type: 'json', value: 1 }), told({ type: 'json', value: 2 })],
      /different results/,
    ],
    ['a failure that nobody ordered', [told({ type: 'error-text', value: 'x' })], /read error-text/],
    [
      'a repeatable call under two keys',
      [asked('approve'), { ...effect, toolName: 'charge' }, { ...effect, toolName: 'charge', key: 'l' }],
      /happened 2 times/,
    ],
    [
      'a prompt that providers refuse',
      [{ ...on, type: 'wrong', what: 'no-orphan-result: x' } as const],
      /no-orphan/,
    ],
    [
      'an acknowledged decision that is gone',
      [asked('decline'), { ...on, type: 'acknowledged', stop: 1, verdict: 'decline' } as const],
      /recorded: nothing/,
    ],
  ])('with %s is found', (_name, entries, problem) => {
    expect(problemsOf({ ...base, entries })).toContainEqual(expect.stringMatching(problem));
  });

  test('of a run that is listed, abandoned or open is found', () => {
    const stored = { kind: 'open', version: 1, events: [] } as const;
    const found = problemsOf({ ...base, entries: [], stored, isListed: true, isAbandoned: true });
    expect(found).toEqual([
      'the run is still listed',
      'the run waits to be taken over',
      'the run is not ended',
    ]);
  });
});
