import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Message } from '../core/message.ts';
import { type ScriptedModel, scriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import { createTool } from './create-tool.ts';
import { Memory } from './memory.ts';

const ask = createTool({
  id: 'ask',
  inputSchema: z.object({ name: z.string() }),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ answer: z.string() }),
  execute: async ({ name }, { agent }) =>
    agent.resumeData ? { [name]: agent.resumeData.answer } : agent.suspend({ question: `${name}?` }),
});

/** Asks for each name; answers all that waits with the numbers from 1; then says so. */
function asking(...names: string[]): ScriptedModel {
  return scriptedModel((prompt, _index, tools) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.';
    const offered = tools.filter(({ name }) => name.startsWith('resume-'));
    const answers = offered.map(({ name }, index) => ({ toolName: name, args: { answer: `${index + 1}` } }));
    return answers.length > 0
      ? { calls: answers }
      : { calls: names.map((name) => ({ toolName: 'ask', args: { name } })) };
  });
}

/** What the model was told last. */
function toldTo({ calls }: ScriptedModel): unknown[] {
  const last = calls.at(-1)?.prompt.at(-1) as Message;
  return (last.content as { output?: { value: unknown } }[]).map(({ output }) => output?.value);
}

const remembering = () => ({ memory: new Memory(), defaultOptions: { autoResumeSuspendedTools: true } });

test('two calls of one run that are answered in one turn have each its own result', async () => {
  const model = asking('first', 'second');
  const agent = new Agent({ id: 'desk', model, tools: { ask }, ...remembering() });
  await agent.generate('Ask me.');
  expect((await agent.generate('1 and 2.')).text).toBe('Done.');
  expect(toldTo(model)).toEqual([{ first: '1' }, { second: '2' }]);
});

test('a turn brings the model object that the waiting run was begun with and could not store', async () => {
  const model = asking('first');
  const agent = new Agent({ id: 'desk', model: 'openai/none', tools: { ask }, ...remembering() });
  await agent.generate('Ask me.', { model });
  await agent.generate('1.', { model });
  expect(toldTo(model)).toEqual([{ first: '1' }]);
});

test('the run that asked ends also where a person had approved the delegation in which the call waits', async () => {
  const below = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool'
      ? 'I know now.'
      : { calls: [{ toolName: 'ask', args: { name: 'first' } }] },
  );
  const worker = new Agent({ id: 'worker', model: below, tools: { ask } });
  const model = scriptedModel((prompt, _index, tools) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.';
    const resume = tools.some(({ name }) => name === 'resume-ask');
    return resume
      ? { calls: [{ toolName: 'resume-ask', args: { answer: '1' } }] }
      : { calls: [{ toolName: 'agent-worker', args: { prompt: 'Find out.' } }] };
  });
  const boss = new Agent({ id: 'boss', model, agents: { worker }, ...remembering() });
  const held = { requireToolApproval: ({ toolName }: { toolName: string }) => toolName === 'agent-worker' };
  const { runId } = await boss.generate('Go.', held);
  await boss.approveToolCallGenerate({ runId, ...held });
  expect((await boss.generate('1.')).text).toBe('Done.');
  expect(toldTo(model)).toEqual(['I know now.']);
  // Once for the delegation and twice for the turn that answers: the old run is not answered twice.
  expect(model.calls).toHaveLength(3);
});
