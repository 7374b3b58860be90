/** Over HTTP, by a server that was not there when the run began: what waits is found and moved, at any depth. */
import { Agent, InMemoryStore, type Store } from 'countersign';
import { describe, expect, test } from 'vitest';
import { type Desk, openDesk } from '../../src/server/test-support/desk.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { idsOf, ofStreams, type Route, routes, stopsIn, type Verb, waiting } from '../support/http-routes.ts';
import { prepareStages, storeNames } from '../support/stages.ts';

const desk = '/api/agents/desk';

/** What each verb is asked for, what it says, and what it leaves done. */
const moves: readonly (readonly [Verb, string, object, readonly string[]])[] = [
  ['approve', 'delete a', {}, ['delete a']],
  ['decline', 'delete b', { reason: 'Keep it.' }, []],
  ['resume', 'book c', { data: { seats: 2 } }, ['book c for 2']],
  ['decline', 'book d', {}, []],
];

describe.each(storeNames)('on %s', (name) => {
  test.each(routes)(
    'scenario: K8 a new server lists what waits, and each verb moves it: $name',
    async ({ decide }) => {
      const stage = (await prepareStages(name))();
      const server = { accept: { requestContext: ['tenant'] } };
      const first = openDesk({ registry: { storage: stage.store }, server });
      for (const [, messages] of moves) {
        const body = {
          messages,
          maxSteps: 5,
          memory: { thread: `thread of ${messages}` },
          requestContext: { tenant: 't-1' },
        };
        expect((await first.post('ada', `${desk}/generate`, body)).body.finishReason).toBe('suspended');
      }
      const shown = await waiting(first);
      await first.app.close();

      const second = openDesk({ registry: { storage: stage.reopen() }, server });
      expect(await waiting(second)).toEqual(shown);
      const done: string[] = [];
      for (const [verb, messages, more, does] of moves) {
        const query = `threadId=${encodeURIComponent(`thread of ${messages}`)}`;
        const { body } = await second.get('ada', `${desk}/suspended-runs?${query}`);
        const [{ runId, toolCalls }] = body.runs;
        const [{ toolCallId, stop, fingerprint, toolName, args, requiresApproval }] = toolCalls;
        expect([`${toolName} ${args.what}`, requiresApproval]).toEqual([messages, toolName === 'delete']);
        const answer = await decide(second, 'ada', { runId, toolCallId }, verb, {
          stop,
          fingerprint,
          ...more,
        });
        expect(answer.status).toBeLessThan(300);
        done.push(...does);
        expect(second.done).toEqual(done);
      }
      expect(await waiting(second)).toEqual([]);
      expect(first.done).toEqual([]);
      // Each run went on after the decision, and was not begun again.
      expect(second.model.calls.map(({ prompt }) => prompt.at(-1)?.role)).toEqual(moves.map(() => 'tool'));
    },
  );

  test.each(routes)(
    'scenario: K9 what waits two runs below is decided at the top, after a restart: $name',
    async (route) => {
      const stage = (await prepareStages(name))();
      await decideBelow(route, 2, 'delete', stage.store, stage.reopen());
    },
  );
});

describe.each([1, 2, 3])('scenario: K9 %i below', (depth) => {
  for (const route of routes) {
    for (const tool of ['delete', 'book'] as const) {
      test(`${tool}, in the server that began: ${route.name}`, () =>
        decideBelow(route, depth, tool, new InMemoryStore()));
      test(`${tool}, after a restart: ${route.name}`, () => {
        const storage = new InMemoryStore();
        return decideBelow(route, depth, tool, storage, storage);
      });
    }
  }

  test('decided through the agent that has it, by its own ids, the run at the top goes on', async () => {
    const storage = new InMemoryStore();
    const first = openTeam(depth, storage);
    const held = await first.server.hold('ada', 'Please delete.');
    await first.server.app.close();
    const { server, done, asked } = openTeam(depth, storage);
    const path: { toolCallId: string }[] = held.path;
    const runId = [held.runId, ...path.map(({ toolCallId }) => toolCallId)].join('~');
    const call = { agentId: `level-${depth}`, runId, toolCallId: held.toolCallId.split('~').at(-1) };
    expect((await ofStreams.decide(server, 'ada', call, 'approve')).status).toBe(200);
    await server.countersign.stop();
    expect(done).toEqual(['delete a']);
    expect(asked).toEqual(Array.from({ length: depth + 1 }, () => 'tool'));
    expect(await waiting(server)).toEqual([]);
  });
});

/** A desk with a chain of agents below it; the last one has the tools. `asked` is what each model call was about. */
function openTeam(depth: number, storage: Store): { server: Desk; done: string[]; asked: string[] } {
  const inner = openDesk();
  const asked: string[] = [];
  const model = scriptedModel((prompt) => {
    const last = prompt.at(-1);
    asked.push(last?.role ?? '');
    if (last?.role !== 'user') return 'Done.';
    const said = JSON.stringify(last.content);
    const [, level = '0'] = /for level (\d)/.exec(said) ?? [];
    const tool = said.includes('book') ? 'book' : 'delete';
    const below = Number(level) + 1;
    if (below > depth) return { calls: [{ toolName: tool, args: { what: 'a' } }] };
    return { calls: [{ toolName: `agent-level${below}`, args: { prompt: `${tool} for level ${below}` } }] };
  });
  const { delete: remove, book } = inner.tools;
  let agents: Record<string, Agent> = {};
  for (let level = depth; level > 0; level--) {
    const tools = level === depth ? { delete: remove, book } : {};
    agents = { [`level${level}`]: new Agent({ id: `level-${level}`, model, tools, agents }) };
  }
  const server = openDesk({ registry: { storage }, agent: { model, tools: {}, agents } });
  return { server, done: inner.done, asked };
}

/** Begins a run that waits below, lists it at the top, and decides it there by the id that is shown. */
async function decideBelow(
  route: Route,
  depth: number,
  tool: 'delete' | 'book',
  storage: Store,
  reopened?: Store,
) {
  const first = openTeam(depth, storage);
  const held = await first.server.hold('ada', `Please ${tool}.`);
  expect(held.path).toHaveLength(depth);
  if (reopened) await first.server.app.close();
  const { server, done, asked } = reopened ? openTeam(depth, reopened) : first;
  const before = asked.length;
  const [call] = await waiting(server, 'ada');
  expect(call).toMatchObject({ ...idsOf(held), toolName: tool, args: { what: 'a' }, path: held.path });
  const verb = tool === 'book' ? 'resume' : 'approve';
  const more = tool === 'book' ? { data: { seats: 2 } } : {};
  const answer = await route.decide(server, 'ada', call, verb, { stop: call.stop, ...more });
  expect(answer.status).toBeLessThan(300);
  expect(done).toEqual([tool === 'book' ? 'book a for 2' : 'delete a']);
  // Each model above hears of the result once; none is asked for the call again.
  expect(asked.slice(before)).toEqual(Array.from({ length: depth + 1 }, () => 'tool'));
  expect(await waiting(server)).toEqual([]);
  if (reopened) expect(first.done).toEqual([]);
}

test.each(['stream', 'generate'] as const)(
  'scenario: K9 what waits below is announced at the top: %s',
  async (face) => {
    const { server } = openTeam(2, new InMemoryStore());
    const path = `${desk}/${face}`;
    const body = { messages: 'Please delete.' };
    const [stop] =
      face === 'stream'
        ? stopsIn(await server.events('ada', path, body))
        : (await server.post('ada', path, body)).body.suspendPayloads;
    expect(stop).toMatchObject({
      toolName: 'delete',
      args: { what: 'a' },
      path: [{ agentId: 'level-1' }, { agentId: 'level-2' }],
    });
  },
);
