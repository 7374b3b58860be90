/** Found by the random schedules: a leg must end though the leg that kept its worker's log new ended before it. */
import { expect, test } from 'vitest';
import { schemaOf, turn, until } from '../../src/core/test-support/parts.ts';
import { Agent, Countersign, createTool, InMemoryStore } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

const runId = 'run-1';

test('a leg follows the other worker also after the last leg beside it has ended', async () => {
  const doors = new Map<string, () => void>();
  const storage = new InMemoryStore();
  const openAgent = (): Agent => {
    const work = async (input: unknown) => {
      const { key } = input as { key: string };
      await new Promise<void>((open) => doors.set(key, open));
      return { did: key } as never;
    };
    const tools = {
      free: createTool({ id: 'free', inputSchema: schemaOf(), execute: work }),
      held: createTool({ id: 'held', inputSchema: schemaOf(), requireApproval: true, execute: work }),
    };
    const ask = (toolName: string, key: string) => ({ toolName, toolCallId: key, args: { key } });
    const model = scriptedModel((prompt) =>
      prompt.length > 1 ? 'Done.' : { calls: [ask('free', 'slow'), ask('held', 'a'), ask('held', 'b')] },
    );
    const agent = new Agent({ id: 'desk', model, tools });
    new Countersign({
      agents: { agent },
      storage,
      clock: { now: Date.now, sleep: turn },
      warn: () => {},
    });
    return agent;
  };
  const open = async (key: string): Promise<void> => {
    await until(() => doors.has(key));
    doors.get(key)?.();
    doors.delete(key);
  };

  const isStored = async (text: string): Promise<void> => {
    for (let turns = 0; turns < 1000; turns++) {
      const found = await storage.load(runId, 0);
      if (found?.kind === 'open' && found.events.some((event) => event.includes(text))) return;
      await turn();
    }
    throw new Error('It is never stored.');
  };

  const [here, there] = [openAgent(), openAgent()];
  const begun = await here.stream('Go.', { runId });
  await isStored('"call-started"');
  const first = await here.approveToolCall({ runId, toolCallId: 'a' });
  let text: string | undefined;
  void first.text.then((whole) => {
    text = whole;
  });
  expect(await begun.finishReason).toBe('suspended');
  await open('a');
  await isStored('"did":"a"');
  const second = await there.approveToolCall({ runId, toolCallId: 'b' });
  await open('slow');
  await isStored('"did":"slow"');
  await open('b');
  expect(await second.text).toBe('Done.');
  await until(() => text !== undefined);
  expect(text).toBe('Done.');
});
