/** Invariant 8 in a team: a pause below that cannot be stored fails the whole run, loudly. */
import { expect, test } from 'vitest';
import { Agent, Countersign } from '../../src/index.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';
import { asksFor, call, delegate, membersOf, teamEffects } from '../support/team.ts';

test('scenario: K12 a pause of a sub-agent that cannot be stored is an error of the run', async () => {
  const effects = teamEffects();
  const agents = membersOf(effects, { level1: { calls: [call('act', 'it'), call('look', 'it')] } });
  const supervisor = new Agent({
    id: 'supervisor',
    model: asksFor('supervisor', [delegate('level1')]),
    agents,
  });
  const storage = new SQLiteStore({ path: ':memory:' });
  new Countersign({ agents: { supervisor }, storage });
  await storage.close();
  await expect(supervisor.generate('Go.')).rejects.toMatchObject({ code: 'store-closed' });
  const stream = await supervisor.stream('Go.');
  expect(await stream.finishReason).toBe('error');
  expect(await stream.error).toMatchObject({ code: 'store-closed' });
  expect(effects.executed).toEqual([]);
});
