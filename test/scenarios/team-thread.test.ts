/** K11 and K17 in a team: a thread shows what waits in a sub-agent, and the next turn is told of it. */
import { expect } from 'vitest';
import { thread } from '../support/by-thread.ts';
import { openConversation } from '../support/conversation.ts';
import { codeOf } from '../support/scene.ts';
import { asksFor, call, chain, delegate, membersOf, teamEffects } from '../support/team.ts';
import { inEveryWorld } from '../support/world.ts';

inEveryWorld('scenario: K11', 'held in a sub-agent: the thread has it, then its outcome', async (open) => {
  const effects = teamEffects();
  const model = asksFor('supervisor', [delegate('level1')]);
  const scene = openConversation(open, {
    script: model,
    agents: () => membersOf(effects, chain(2, [call('act', 'it')])),
  });
  const { runId } = await scene.start();
  const toolCallId = 'to-level1~to-level2~act-it';
  const waiting = (await scene.memory().recall(thread)).messages;
  expect(waiting.map(({ role }) => role)).toEqual(['user', 'assistant']);
  const parts = waiting[1]?.parts as unknown as Record<string, unknown>[];
  expect(parts.filter(({ type }) => String(type).includes('tool-'))).toMatchObject([
    {
      type: 'data-tool-call-delegated',
      id: 'to-level1',
      data: { type: 'tool-agent-level1', toolCallId: 'to-level1', state: 'input-available' },
    },
    {
      type: 'tool-act',
      toolCallId,
      input: { name: 'it' },
      state: 'approval-requested',
      approval: { id: `${runId}::${toolCallId}::1` },
    },
  ]);

  const meanwhile = await scene.turn('What about it?');
  expect(meanwhile.finishReason).toBe('stop');
  const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
  expect(prompt).toContain('waits for a person to approve it');
  expect(prompt).not.toContain(toolCallId);

  await scene.decline(runId, { toolCallId, reason: 'Not today.' });
  expect(effects.executed).toEqual([]);
  const settled = (await scene.memory().recall(thread)).messages;
  expect(settled[1]?.parts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        toolCallId,
        state: 'output-denied',
        approval: expect.objectContaining({ approved: false, reason: 'Not today.' }),
      }),
      expect.objectContaining({ toolCallId: 'to-level1', state: 'output-available' }),
    ]),
  );
  expect(await codeOf(scene.approve(runId, { toolCallId }))).toBe('already-decided');
});

inEveryWorld('scenario: K9', 'held in a sub-agent: decided by what a page has', async (open) => {
  const effects = teamEffects();
  const scene = openConversation(open, {
    script: asksFor('supervisor', [delegate('level1')]),
    agents: () => membersOf(effects, chain(3, [call('act', 'it')])),
  });
  await scene.start();
  const { messages } = await scene.memory().recall(thread);
  const parts = messages.flatMap((message) => message.parts) as { approval?: { id: string } }[];
  const [runId = '', toolCallId = '', stop] = parts.flatMap(({ approval }) => approval?.id.split('::') ?? []);
  const approved = await scene.approve(runId, { toolCallId, stop: Number(stop) });
  expect(approved.text).toBe('supervisor is done.');
  expect(effects.executed).toEqual(['act it']);
  for (const below of effects.models.values()) expect(below.calls).toHaveLength(2);
});
