/** K13 and K5 of auto-resume: what could not be stored comes along or is missed, and policies hold the extra call too. */
import { createTool, RequestContext, type RunOptions } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { answers, askingTool, asks, namesOffered, openAnswering, outputsIn } from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { expectValidPrompts } from '../support/conversation.ts';
import { inEveryWorld } from '../support/world.ts';

const script = [
  { calls: [asks('weather', 'A')] },
  { calls: [answers('Rome', 'R1')] },
  'Something is missing.',
  { calls: [answers('Rome', 'R2')] },
  'Fine.',
];

/** A tool that notes what it is told of the request. */
function telling(seen: unknown[]) {
  return createTool({
    id: 'ask',
    inputSchema: z.object({ about: z.string() }),
    resumeSchema: z.object({ city: z.string() }),
    execute: async (_input, { agent, requestContext }) => {
      if (agent.resumeData === undefined) return agent.suspend({ question: 'Which?' });
      seen.push([requestContext.get('key'), requestContext.get('tenant')]);
      return { city: agent.resumeData.city };
    },
  });
}

function contextOf(key: string | undefined, tenant: string): RequestContext {
  const context = new RequestContext([['tenant', tenant]]);
  if (key !== undefined) context.set('key', key, { secret: true });
  return context;
}

inEveryWorld(
  'scenario: K13',
  'a secret comes along from the turn, and nothing else of its context',
  async (open) => {
    const seen: unknown[] = [];
    const scene = openAnswering(open, { script, tools: { ask: telling(seen) } });
    const { runId } = await scene.start({ requestContext: contextOf('first', 'acme') });
    await scene.turn('Rome.', { requestContext: contextOf(undefined, 'other') });
    expect(outputsIn(scene, 2).R1).toMatchObject({
      type: 'error-text',
      value: expect.stringContaining('requestContext.key'),
    });
    expect((await scene.list(thread)).runs).toMatchObject([{ runId, toolCalls: [{ stop: 1 }] }]);
    await scene.turn('Rome.', { requestContext: contextOf('second', 'other') });
    expect(seen).toEqual([['second', 'acme']]);
    expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  },
);

inEveryWorld('scenario: K13', 'run hooks come along from the turn, and are never skipped', async (open) => {
  const hooked: string[] = [];
  const effects: string[] = [];
  const hooks: RunOptions['hooks'] = {
    beforeToolCall: ({ runId, toolName }) => {
      hooked.push(`${toolName} ${runId}`);
    },
  };
  const scene = openAnswering(open, { script, tools: { ask: askingTool(effects) } });
  const { runId } = await scene.start({ hooks });
  await scene.turn('Rome.');
  expect(outputsIn(scene, 2).R1).toMatchObject({
    type: 'error-text',
    value: expect.stringContaining('hooks'),
  });
  expect(effects).toEqual([]);
  const turn = await scene.turn('Rome.', { hooks });
  expect(turn.text).toBe('Fine.');
  expect(hooked).toEqual([`ask ${runId}`, `resume-ask ${turn.runId}`, `ask ${runId}`]);
  expect(effects).toEqual(['weather: Rome']);
});

inEveryWorld('scenario: K13', 'toolsets and a model object come along from the turn', async (open) => {
  const effects: string[] = [];
  const toolsets = { more: { ask: askingTool(effects) } };
  const model = scriptedModel(script);
  const scene = openAnswering(open, { script: [] });
  const { runId } = await scene.start({ toolsets, model });
  await scene.turn('Rome.', { model });
  expect(JSON.stringify(model.calls[2]?.prompt)).toContain('toolsets.more');
  expect((await scene.list(thread)).runs).toMatchObject([{ runId }]);
  expect((await scene.turn('Rome.', { toolsets, model })).text).toBe('Fine.');
  expect(effects).toEqual(['weather: Rome']);
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
});

inEveryWorld(
  'scenario: K13',
  'a tool that is not deployed any more leaves its call waiting',
  async (open) => {
    const effects: string[] = [];
    const scene = openAnswering(open, { script, tools: { ask: askingTool(effects) } });
    const { runId } = await scene.start();
    const memory = { thread: thread.threadId, resource: thread.resourceId };
    const options = { memory, autoResumeSuspendedTools: true };
    await scene.another({ tools: {} }).generate('Rome.', options);
    expect(outputsIn(scene, 2).R1?.value).toContain('has no tool "ask" any more');
    expect((await scene.list(thread)).runs).toMatchObject([{ runId }]);
    await scene.turn('Rome.');
    expect(effects).toEqual(['weather: Rome']);
  },
);

inEveryWorld('scenario: K5', 'a policy that holds everything holds the extra call', async (open) => {
  const effects: string[] = [];
  const scene = openAnswering(open, {
    script: [{ calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'Fine.'],
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const turn = await scene.turn('Rome.', { requireToolApproval: true });
  expect(turn.finishReason).toBe('suspended');
  expect(turn.payloads).toMatchObject([{ toolCallId: 'R', toolName: 'resume-ask', args: { city: 'Rome' } }]);
  expect(effects).toEqual([]);
  const listed = (await scene.list(thread)).runs.map((run) => [run.runId, run.toolCalls[0]?.state]);
  expect(listed.toSorted()).toEqual(
    [
      [runId, 'suspended'],
      [turn.runId, 'held'],
    ].toSorted(),
  );
  const approved = await scene.approve(turn.runId, { toolCallId: 'R' });
  expect(approved).toMatchObject({ text: 'Fine.', finishReason: 'stop' });
  expect(effects).toEqual(['weather: Rome']);
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  expect(await scene.store.load(runId, 0)).toMatchObject({
    outcome: { answered: { runId: turn.runId, toolCallId: 'R' } },
    records: [{ by: { id: 'auto-resume' } }],
  });
  expectValidPrompts(scene, 3);
});

inEveryWorld('scenario: K5', 'a held extra call whose question a person answered meanwhile', async (open) => {
  const effects: string[] = [];
  const scene = openAnswering(open, {
    script: [{ calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'By a person.', 'Too late.'],
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const turn = await scene.turn('Rome.', { requireToolApproval: true });
  expect((await scene.resume({ city: 'Oslo' }, runId)).text).toBe('By a person.');
  expect((await scene.approve(turn.runId)).text).toBe('Too late.');
  expect(outputsIn(scene, 3).R).toMatchObject({ type: 'error-text' });
  expect(effects).toEqual(['weather: Oslo']);
});

inEveryWorld('scenario: K5', 'a policy function is asked about the extra call by its name', async (open) => {
  const effects: string[] = [];
  const asked: string[] = [];
  const requireToolApproval: RunOptions['requireToolApproval'] = ({ toolName, args }) => {
    asked.push(`${toolName} ${JSON.stringify(args)}`);
    return toolName.startsWith('resume-');
  };
  const scene = openAnswering(open, {
    script: [{ calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'Then not.'],
    tools: { ask: askingTool(effects) },
    options: { requireToolApproval },
  });
  const { runId } = await scene.start();
  const turn = await scene.turn('Rome.');
  expect(turn.finishReason).toBe('suspended');
  expect(asked).toEqual(['ask {"about":"weather"}', 'resume-ask {"city":"Rome"}']);
  expect((await scene.decline(turn.runId)).text).toBe('Then not.');
  expect(effects).toEqual([]);
  expect((await scene.list(thread)).runs).toMatchObject([{ runId }]);
  expect(namesOffered(scene, 2)).toEqual(['ask']);
});
