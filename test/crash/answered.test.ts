/**
 * A process dies at every point while a turn answers what a suspended call of an earlier one asked (auto-resume). The
 * call is carried out at most once, and the turn gets what became of it: from the run, its outcome or its records.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Agent } from '../../src/agent/agent.ts';
import { createTool } from '../../src/agent/create-tool.ts';
import { Memory } from '../../src/agent/memory.ts';
import type { RunOptions } from '../../src/agent/options.ts';
import type { DecisionRecord } from '../../src/core/store.ts';
import type { ToolContext } from '../../src/core/tool.ts';
import { type ScriptedCall, scriptedModel } from '../../src/testing/scripted-model.ts';
import type { World } from './desk.ts';
import { factsOf } from './journal.ts';
import { openProcess, openShared, type Point, type Process, type Shared } from './memory-world.ts';

interface Case {
  readonly name: string;
  /** Whether the tool may run again under one key. */
  readonly idempotent?: true;
  /** More than a record keeps. */
  readonly large?: true;
  /** How many calls ask, and are answered in one turn. */
  readonly calls?: number;
  /** Of the turn. */
  readonly options?: RunOptions;
}

const cases: readonly Case[] = [
  { name: 'a durable turn', options: { durable: true } },
  { name: 'a durable turn, and a large result', options: { durable: true }, large: true },
  {
    name: 'a durable turn, and a tool that may run again',
    options: { durable: true },
    idempotent: true,
    large: true,
  },
  { name: 'a turn whose extra call is held', options: { requireToolApproval: true } },
  { name: 'a turn that is not stored', idempotent: true },
  { name: 'a durable turn that answers two calls', options: { durable: true }, calls: 2 },
  { name: 'a durable turn that answers two calls, large', options: { durable: true }, calls: 2, large: true },
];

const callsOf = ({ calls = 1 }: Case): number[] => Array.from({ length: calls }, (_, index) => index + 1);

/** Whether a turn is stored before it answers. */
const isStored = ({ options }: Case): boolean => options !== undefined;

const memory = { thread: 'thread', resource: 'user' };
const person = { by: { id: 'ann' } };

/** What the call of this id gives back. */
const resultOf = (id: string, { large }: Case): object => ({
  id,
  by: 'tool',
  text: large ? 'x'.repeat(20_000) : '',
});

function openAnswering(one: Case, prompts: string[]): (world: World) => Agent {
  const numbers = callsOf(one);
  return (world) =>
    new Agent({
      id: 'desk',
      memory: new Memory(),
      model: scriptedModel(async (prompt, _index, tools) => {
        await world.reach('in model call');
        prompts.push(JSON.stringify(prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []))));
        const last = prompt.at(-1);
        if (last?.role !== 'user') return 'Done.';
        const offered = tools.filter(({ name }) => name.startsWith('resume-'));
        const calls = numbers.map((number, index): ScriptedCall => {
          const extra = offered[index]?.name;
          return extra
            ? { toolName: extra, args: { city: 'Rome' }, toolCallId: `R${number}` }
            : { toolName: 'ask', args: { id: `A${number}` }, toolCallId: `A${number}` };
        });
        return { calls };
      }),
      tools: {
        ask: createTool({
          id: 'ask',
          inputSchema: z.object({ id: z.string() }),
          resumeSchema: z.object({ city: z.string() }),
          ...(one.idempotent ? { idempotent: true } : {}),
          execute: async ({ id }, context) => {
            if (context.agent.resumeData === undefined) return context.agent.suspend({ question: 'Which?' });
            const { runId, toolCallId, idempotencyKey: key } = context as unknown as ToolContext;
            await world.effect({ runId, toolCallId, toolName: 'ask', key });
            return resultOf(id, one);
          },
        }),
      },
    });
}

/** The user's message, and the approval of what the turn may hold. */
async function turn({ agent }: Process, { options }: Case): Promise<void> {
  const first = await agent.generate('Rome.', {
    memory,
    runId: 'turn',
    autoResumeSuspendedTools: true,
    ...options,
  });
  if (first.finishReason === 'suspended') await agent.approveToolCallGenerate({ runId: 'turn', ...person });
}

/** Sweeps, approves, and says what happened where nobody knows, until nothing is left. */
async function recover({ agent, countersign, atRest }: Process, shared: Shared): Promise<boolean> {
  for (let round = 0; round < 12; round++) {
    await countersign.sweep();
    await atRest();
    const { runs } = await agent.listSuspendedRuns({ status: 'all' });
    const [call] = runs.flatMap(({ toolCalls }) => toolCalls);
    if (runs.length === 0) return true;
    if (!call) continue;
    const on = { runId: runs.find(({ toolCalls }) => toolCalls.includes(call))?.runId ?? '', ...person };
    const { toolCallId, state } = call;
    const happened = factsOf(shared.journal.read(on.runId), 'effect').some(
      (one) => one.toolCallId === toolCallId,
    );
    if (state === 'held') await agent.approveToolCallGenerate({ ...on, toolCallId });
    else if (state === 'suspended') await agent.resumeGenerate({ city: 'Oslo' }, { ...on, toolCallId });
    else if (happened)
      await agent.resolveInterruptedCallGenerate({ ...on, toolCallId, output: { by: 'person' } });
    else await agent.resolveInterruptedCallGenerate({ ...on, toolCallId, runAgain: true });
  }
  return false;
}

/** Asks in one process, answers in a second that dies, recovers in a third. Says what is wrong then. */
async function crash(one: Case, at: Point | undefined): Promise<{ problems: string[]; process: Process }> {
  const shared = openShared();
  const prompts: string[] = [];
  const open = (point?: Point): Process => openProcess(shared, point, undefined, openAnswering(one, prompts));
  const asking = open();
  await asking.agent.generate('The weather?', { memory, runId: 'old' });
  await asking.atRest();
  asking.store.die();
  shared.now += 60_000;
  const process = open(at);
  await Promise.race([turn(process, one), process.died]);
  if (at && !process.store.isDead) return { problems: ['the point was not reached'], process };
  process.store.die();
  shared.now += 60_000;
  const last = open();
  const isOver = await recover(last, shared);
  return {
    problems: [...(isOver ? [] : ['something waits for ever']), ...(await wrong(one, last, shared, prompts))],
    process,
  };
}

interface Told {
  readonly toolCallId: string;
  readonly output: { readonly type: string; readonly value: unknown };
}

async function wrong(
  one: Case,
  { store }: Process,
  shared: Shared,
  prompts: readonly string[],
): Promise<string[]> {
  const [old, turned] = [await store.load('old', 0), await store.load('turn', 0)];
  const records = old?.kind === 'ended' ? old.records : [];
  const told = prompts.flatMap((prompt) => JSON.parse(prompt) as Told[]);
  return [
    ...(old?.kind === 'ended' && old.outcome.status === 'finished' ? [] : ['the old run did not finish']),
    ...(!turned || (turned.kind === 'ended' && turned.outcome.status === 'finished')
      ? []
      : ['the turn did not finish']),
    ...(turned || !isStored(one) || records.every(({ by }) => by?.id === 'ann') ? [] : ['the turn is gone']),
    ...callsOf(one).flatMap((number) => {
      const id = `A${number}`;
      const own = records.filter(({ toolCallId }) => toolCallId === id);
      const outputs = told
        .filter(({ toolCallId }) => toolCallId === `R${number}`)
        .map(({ output }) => output);
      return [
        ...wrongEffects(one, id, shared),
        ...outputs.flatMap((output) => wrongAnswer(one, id, own, output)),
      ];
    }),
  ];
}

function wrongEffects({ idempotent }: Case, id: string, { journal }: Shared): string[] {
  const own = factsOf(journal.read('old'), 'effect').filter(({ toolCallId }) => toolCallId === id);
  const count = idempotent ? new Set(own.map(({ key }) => key)).size : own.length;
  return count === 1 ? [] : [`${id} happened ${count} times`];
}

/** What the turn was told of its answer is what came of it; unless nobody knew that then. */
function wrongAnswer(
  one: Case,
  id: string,
  records: readonly DecisionRecord[],
  { type, value }: Told['output'],
): string[] {
  const said = JSON.stringify(value);
  const wrongly = [`the turn was told of ${id}: ${type} ${said.slice(0, 200)}`];
  const taken = records.find(({ answering }) => answering);
  if (!taken) return type === 'error-text' ? [] : wrongly;
  if (type === 'json' && said === JSON.stringify(resultOf(id, one))) return [];
  if (records.some(({ verdict }) => verdict === 'resolve')) return said.includes('waiting') ? [] : wrongly;
  // Of two results the outcome keeps the one that was last.
  const isOther = (one.calls ?? 1) > 1 && taken.outcome?.truncated === true;
  return isOther && said.includes('"finished":true') ? [] : wrongly;
}

async function pointsOf(one: Case): Promise<Point[]> {
  const { process, problems } = await crash(one, undefined);
  expect(problems).toEqual([]);
  return [
    ...process.store.writes.flatMap((_, index): Point[] => [
      { nth: index + 1, when: 'before' },
      { nth: index + 1, when: 'after' },
    ]),
    ...process.phases.map((_, index): Point => ({ phase: index + 1 })),
  ];
}

describe.each(cases)('$name', (one) => {
  test('survives a crash at every point', async () => {
    const points = await pointsOf(one);
    const failures: string[] = [];
    for (const at of points) {
      const { problems } = await crash(one, at);
      failures.push(...problems.map((problem) => `${JSON.stringify(at)}: ${problem}`));
    }
    expect(points.length).toBeGreaterThan(8);
    expect(failures).toEqual([]);
  });
});
