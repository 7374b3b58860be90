/** One conversation on one file in several processes: each is shown what waits, one decides or answers it, all see it once. */
import { once } from 'node:events';
import type { UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { answers, asks } from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { spawnChild } from '../support/child.ts';
import { callsIn, spoken } from '../support/conversation.ts';
import { type Command, effectsOf, type Orders, openDesk, type ToldByChild } from '../support/desk-process.ts';
import { kinds, refundCall } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { temporaryFile } from '../support/stages.ts';

const memory = { thread: thread.threadId, resource: thread.resourceId };
const options = { memory, autoResumeSuspendedTools: true };

function placeOf(kind = 0) {
  const database = temporaryFile();
  return { database, effects: `${database}.effects`, kind, remembers: true };
}

type Place = ReturnType<typeof placeOf>;

/** What a process tells that is gone again. */
async function inChild(place: Place, script: Orders['script'], ...commands: Command[]) {
  const { child, next } = spawnChild({ ...place, script, commands });
  const exited = once(child, 'exit');
  const told: ToldByChild[] = [];
  for (const _command of commands) told.push(await next<ToldByChild>());
  await exited;
  return told;
}

function here(place: Place, script: Parameters<typeof openDesk>[1]) {
  const desk = openDesk(place, script);
  onTestFinished(() => desk.store.close());
  const recalled = async (): Promise<UIMessage[]> =>
    (await desk.memory.recall(thread)).messages as UIMessage[];
  return { ...desk, recalled };
}

const recall: Command = { do: 'recall', of: thread };
const asOne = (messages: unknown): unknown => JSON.parse(JSON.stringify(messages));

test('scenario: K18 two processes: asked in a child, talked about here, answered in another, once', async () => {
  const place = placeOf();
  const [asked] = await inChild(place, [{ calls: [asks('weather', 'A')] }], { do: 'start', options });
  expect(asked).toMatchObject({ finishReason: 'suspended', modelCalls: 1 });
  expect(asked?.offered).toEqual([['refund', 'look', 'slow', 'ask']]);
  const { runId } = asked!;

  const smuggled = { city: 'Rome', resumeData: { city: 'Rome' }, suspendedToolRunId: runId };
  const { agent, model, recalled } = here(place, [
    { calls: [{ toolName: 'look', args: smuggled, toolCallId: 'L' }] },
    'I looked.',
    { calls: [answers('Bonn', 'late')] },
    'Too late.',
  ]);
  const talk = await agent.generate('Look around.', options);
  expect(talk.text).toBe('I looked.');
  const named = (index: number): string[] => (model.calls[index]?.tools ?? []).map(({ name }) => name);
  expect(named(0).filter((name) => !asked?.offered[0]?.includes(name))).toEqual(['resume-ask']);
  expect(named(1)).toEqual(asked?.offered[0]);
  expect((await agent.listSuspendedRuns(thread)).runs).toMatchObject([
    { runId, toolCalls: [{ toolCallId: 'A', stop: 1 }] },
  ]);

  const [answered] = await inChild(place, [{ calls: [answers('Rome')] }, 'Sunny.'], {
    do: 'start',
    message: 'Rome.',
    options,
  });
  expect(answered).toMatchObject({ text: 'Sunny.', results: [{ toolCallId: 'R' }] });
  expect(effectsOf(place).filter(({ tool }) => tool === 'ask')).toMatchObject([{ input: 'weather: Rome' }]);
  expect((await agent.listSuspendedRuns({ status: 'all' })).runs).toEqual([]);
  expect(await codeOf(agent.resumeGenerate({ city: 'Bonn' }, { runId }))).toBe('already-decided');
  expect((await agent.generate('Bonn.', options)).text).toBe('Too late.');
  expect(named(2)).toEqual(asked?.offered[0]);
  expect(effectsOf(place).filter(({ tool }) => tool === 'ask')).toHaveLength(1);
  expect(callsIn(await recalled()).filter(({ toolCallId }) => toolCallId === 'A')).toMatchObject([
    { state: 'output-available', output: { weather: 'Rome' } },
  ]);
});

for (const [kind, { name, clientSide }] of kinds.entries()) {
  for (const verdict of ['approve', 'decline'] as const) {
    test(`scenario: K11 two processes: both are shown what waits, one decides, ${verdict} (${name})`, async () => {
      const place = placeOf(kind);
      const [asked, shown] = await inChild(
        place,
        [{ text: 'I ask. ', calls: [refundCall('a', 10, 'A')] }],
        { do: 'start', options: { memory } },
        recall,
      );
      const { runId } = asked!;
      const { agent, recalled } = here(place, ['Done.']);
      const before = await recalled();
      expect(asOne(before)).toEqual(shown?.messages);
      expect(callsIn(before)).toMatchObject([
        { toolCallId: 'A', state: 'approval-requested', approval: { id: `${runId}::A::1` } },
      ]);

      const choice = { runId, toolCallId: 'A', reason: 'as agreed' };
      const commands: Command[] = [{ do: verdict, options: choice }];
      if (clientSide && verdict === 'approve') {
        commands.push({ do: 'resume', data: { refunded: 10 }, options: { runId, toolCallId: 'A' } });
      }
      const told = await inChild(place, ['Done.'], ...commands, recall);
      expect(told.at(-2)?.text).toBe('Done.');
      const after = await recalled();
      expect(asOne(after)).toEqual(told.at(-1)?.messages);
      expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
      expect(spoken(after)).toEqual(['user: Please do it.', 'assistant: I ask. Done.']);
      const approval = { approved: verdict === 'approve', reason: 'as agreed' };
      expect(callsIn(after)).toMatchObject([
        verdict === 'approve'
          ? { state: 'output-available', output: { refunded: 10 }, approval }
          : { state: 'output-denied', approval },
      ]);
      expect(await codeOf(agent.approveToolCall({ runId, toolCallId: 'A' }))).toBe('already-decided');
      expect(await recalled()).toEqual(after);
      expect(effectsOf(place)).toHaveLength(verdict === 'approve' && !clientSide ? 1 : 0);
    });
  }
}
