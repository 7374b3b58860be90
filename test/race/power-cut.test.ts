/**
 * After a power cut the database has forgotten what was committed without waiting for the disk, and every worker is
 * gone with it. (Where workers outlive the database, as with PostgreSQL, nothing is committed without waiting.)
 */
import { Agent, Countersign, createTool, InMemoryStore, type Store } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';

/** Forgets relaxed appends once it is told to: it says yes and writes nothing, as if a crash came right after. */
function forgetful(store: Store): { store: Store; forget(): void; readonly forgotten: number } {
  let isForgetting = false;
  let forgotten = 0;
  const wrapped = new Proxy(store, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key);
      if (key === 'append') {
        const append: Store['append'] = async (batch) => {
          if (!isForgetting || batch.durability === 'full') return object.append(batch);
          isForgetting = false;
          forgotten++;
          return { ok: true, version: batch.expectedVersion + batch.events.length };
        };
        return append;
      }
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
  return {
    store: wrapped,
    forget() {
      isForgetting = true;
    },
    get forgotten() {
      return forgotten;
    },
  };
}

test('a result that the database forgot makes its call interrupted: it does not run again', async () => {
  let now = 0;
  const memory = new InMemoryStore({ now: () => now });
  const power = forgetful(memory);
  const effects: string[] = [];
  const tool = createTool({
    id: 'refund',
    inputSchema: z.looseObject({}),
    requireApproval: true,
    execute: async (_args, { toolCallId }) => {
      effects.push(toolCallId);
      power.forget();
      return { ok: true };
    },
  });
  const open = (storage: Store) => {
    const agent = new Agent({
      id: 'desk',
      model: scriptedModel((prompt) =>
        prompt.at(-1)?.role === 'tool'
          ? 'Done.'
          : { calls: ['one', 'two'].map((toolCallId) => ({ toolName: 'refund', toolCallId, args: {} })) },
      ),
      tools: { tool },
    });
    return { agent, countersign: new Countersign({ agents: { agent }, storage, warn: () => {} }) };
  };
  const first = open(power.store);
  const { runId } = await first.agent.generate('Refund both');
  await first.agent.approveToolCallGenerate({ runId, toolCallId: 'one' });
  expect(power.forgotten).toBe(1);
  // Its process is gone; another one finds the call still claimed by a worker that is dead.
  now += 21_000;
  const { agent, countersign } = open(memory);
  await agent.declineToolCallGenerate({ runId, toolCallId: 'two' });
  await countersign.sweep();
  await countersign.stop();
  expect(effects).toEqual(['one']);
  const { runs } = await agent.listSuspendedRuns({ status: 'interrupted' });
  expect(runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['one']);
  const output = await agent.resolveInterruptedCallGenerate({
    runId,
    toolCallId: 'one',
    output: { ok: true },
  });
  expect(output.text).toBe('Done.');
});
