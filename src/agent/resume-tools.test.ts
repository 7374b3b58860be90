import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Event, Resumable } from '../core/event.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import { fold } from '../core/run.ts';
import type { Run } from '../core/state.ts';
import {
  callIs,
  callStarted,
  decided,
  me,
  requested,
  runStarted,
  runWith,
  suspended,
} from '../core/test-support/events.ts';
import { InMemoryStore } from '../store/memory.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import { Countersign } from './countersign.ts';
import { createTool } from './create-tool.ts';
import { Memory } from './memory.ts';
import { resumableIn, resumeTools } from './resume-tools.ts';
import type { AgentCore } from './types.ts';

const user: Message = { role: 'user', content: 'Rome.' };
const city: JsonObject = { type: 'object', properties: { city: { type: 'string' } } };

/** A run in which these calls are suspended. */
function waiting(
  ids: readonly string[],
  over: Partial<Extract<Event, { type: 'call-suspended' }>> = {},
): Run {
  const events = ids.flatMap((id): Event[] => [
    callStarted(id),
    {
      ...(suspended(id) as Extract<Event, { type: 'call-suspended' }>),
      resumeSchema: city,
      autoResume: true,
      ...over,
    },
  ]);
  return runWith(
    ids.map((id) => requested(id, 'free')),
    ...events,
  );
}

/** The same calls of a tool of this name. */
function named(run: Run, toolName: string, args: Json = {}): Run {
  const calls = [...run.calls].map(([id, call]) => [id, { ...call, toolName, args }] as const);
  return { ...run, calls: new Map(calls) };
}

const resumables = (...runs: Run[]): readonly Resumable[] => resumableIn(runs, 'agent-1', [user], []);

describe('what a turn may answer', () => {
  test('is each suspended call whose tool allows it, by its run, its id and its stop', () => {
    const run = waiting(['c1', 'c2']);
    expect(resumables(run)).toMatchObject([
      { runId: run.started.runId, toolCallId: 'c1', stop: 1, resumeSchema: city },
      { runId: run.started.runId, toolCallId: 'c2', stop: 1, resumeSchema: city },
    ]);
    expect(resumables(waiting(['c1'], { autoResume: undefined as never }))).toEqual([]);
    expect(resumables(waiting(['c1'], { resumeSchema: undefined as never }))).toEqual([]);
  });

  test('is no held call, and none of which nobody knows whether it happened', () => {
    expect(resumables(runWith([requested('c1', 'held')]))).toEqual([]);
    const died = [decided('c1', 'resume'), callStarted('c1', me, 2), callIs('call-interrupted', 'c1')];
    expect(resumables(fold(died, waiting(['c1'])) as Run)).toEqual([]);
  });

  test('is nothing that a reviewer decides', () => {
    const asked = (approver: 'owner' | 'reviewer') =>
      runWith([requested('c1', 'free', { approver })], callStarted('c1'), {
        ...(suspended('c1') as Extract<Event, { type: 'call-suspended' }>),
        resumeSchema: city,
        autoResume: true,
      });
    expect(resumables(asked('owner'))).toHaveLength(1);
    expect(resumables(asked('reviewer'))).toEqual([]);
  });

  test('is nothing of other agents, and nothing where no user opens the turn', () => {
    const run = waiting(['c1']);
    expect(resumableIn([run], 'another', [user], [])).toEqual([]);
    expect(resumableIn([run], 'agent-1', [], [])).toEqual([]);
    expect(resumableIn([run], 'agent-1', [user, { role: 'assistant', content: 'Rome?' }], [])).toEqual([]);
    expect(resumableIn([run], 'agent-1', [user, { role: 'tool', content: [] }], [])).toEqual([]);
  });
});

describe('the name of an extra tool', () => {
  test('is that of the waiting tool, with a number where several wait', () => {
    const runs = [named(waiting(['c1', 'c2']), 'ask'), named(waiting(['c3']), 'ask')];
    expect(resumables(...runs).map(({ name }) => name)).toEqual([
      'resume-ask',
      'resume-ask-2',
      'resume-ask-3',
    ]);
  });

  test('has at most 64 characters, also with a number of several digits', () => {
    const long = 'a'.repeat(64);
    const ids = Array.from({ length: 1001 }, (_, index) => `c${index}`);
    const names = resumables(named(waiting(ids), long)).map(({ name }) => name);
    expect(new Set(names).size).toBe(1001);
    expect(Math.max(...names.map(({ length }) => length))).toBe(64);
    expect(names.at(-1)).toMatch(/^resume-a+-1001$/);
  });

  test('of two long names that differ at their end alone', () => {
    const runs = ['x', 'y'].map((end) => named(waiting(['c1']), `${'a'.repeat(63)}${end}`));
    expect(new Set(resumables(...runs).map(({ name }) => name)).size).toBe(2);
  });
});

describe('what the model is told of the waiting call', () => {
  test('is what it was called with, and what it asked', () => {
    const [first] = resumables(
      named(waiting(['c1'], { payload: { question: 'Which?' } }), 'ask', { about: 'rain' }),
    );
    expect(first?.about).toContain('An earlier call of "ask"');
    expect(first?.about).toContain('{"about":"rain"}');
    expect(first?.about).toContain('{"question":"Which?"}');
  });

  test('is never more than providers take, nor half a character', () => {
    const payload = { question: `${'🙂'.repeat(5000)}` };
    const long = named(waiting(['c1'], { payload }), 'a'.repeat(64), { text: 'é'.repeat(5000) });
    const about = resumables(long)[0]?.about ?? '';
    expect(about.length).toBeLessThanOrEqual(1024);
    expect(about.isWellFormed()).toBe(true);
  });
});

describe('an extra tool', () => {
  const given: unknown[] = [];
  const agent = {
    answer: async (_resumable: Resumable, data: unknown) => {
      given.push(data);
      return { result: 1 };
    },
  } as unknown as AgentCore;
  const toolFor = (resumeSchema: JsonObject) => {
    const resumable = { ...(resumables(waiting(['c1']))[0] as Resumable), resumeSchema };
    const [one] = resumeTools(agent, runStarted({ resumable: [resumable] }), {});
    if (!one) throw new Error('There is no tool.');
    return one;
  };

  test('is offered in the first step alone', () => {
    expect(toolFor(city)).toMatchObject({ onlyFirst: true });
    expect(resumeTools(agent, runStarted(), {})).toEqual([]);
  });

  test('takes an object as it is, and all else as its answer', async () => {
    expect(await toolFor(city).tool.inputJsonSchema()).toEqual(city);
    const number = toolFor({ type: 'number' }).tool;
    expect(await number.inputJsonSchema()).toEqual({
      type: 'object',
      properties: { answer: { type: 'number' } },
      required: ['answer'],
    });
    given.length = 0;
    for (const input of [{ answer: 0 }, {}]) await number.execute?.(input, { toolCallId: 'R' } as never);
    expect(given).toEqual([0, undefined]);
  });

  test('keeps no second form of a result whose own tool has none', async () => {
    const { tool } = toolFor(city);
    const result = await tool.execute?.({ city: 'Rome' }, { toolCallId: 'R' } as never);
    expect(tool.toModelOutput?.(result, { toolCallId: 'R', input: {} })).toBeUndefined();
  });

  test('keeps the definitions that its schema refers to at the root', async () => {
    const definitions = { node: { type: 'string' } };
    const list = { $schema: 'draft', type: 'array', items: { $ref: '#/definitions/node' }, definitions };
    expect(await toolFor(list).tool.inputJsonSchema()).toMatchObject({
      properties: { answer: { type: 'array', items: { $ref: '#/definitions/node' } } },
      definitions,
    });
  });
});

test('a tool that came with a new release and has the name of an extra tool of an open run is an error that says so', async () => {
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({ isHeld: z.boolean().optional() }),
    resumeSchema: z.object({ city: z.string() }),
    requireApproval: ({ isHeld }) => isHeld === true,
    execute: async (_input, { agent }) => agent.suspend({ question: 'Which?' }),
  });
  const other = createTool({ id: 'resume-ask', inputSchema: z.object({}), execute: async () => 'mine' });
  let isNewer = false;
  const agent = new Agent({
    id: 'desk',
    model: scriptedModel([
      { calls: [{ toolName: 'ask' }] },
      { calls: [{ toolName: 'ask', args: { isHeld: true } }] },
      'Fine.',
    ]),
    tools: () => (isNewer ? { ask, other } : { ask }),
    memory: new Memory(),
  });
  new Countersign({ agents: { agent }, storage: new InMemoryStore(), warn: () => {} });
  const memory = { thread: 'thread', resource: 'user' };
  await agent.generate('The weather?', { memory });
  const { runId } = await agent.generate('Rome.', { memory, autoResumeSuspendedTools: true });
  isNewer = true;
  await expect(agent.declineToolCallGenerate({ runId })).rejects.toMatchObject({
    code: 'invalid-tool',
    details: { toolName: 'resume-ask' },
  });
  isNewer = false;
  expect((await agent.declineToolCallGenerate({ runId })).text).toBe('Fine.');
});
