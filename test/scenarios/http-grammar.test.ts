/** Over HTTP every stream has one grammar: the first one, those of decisions, and those that follow. */
import { describe, expect, test } from 'vitest';
import { type Chunk, type Desk, eventsIn, openDesk, type Who } from '../../src/server/test-support/desk.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { ofGenerates, ofStreams, stopsIn, type Verb } from '../support/http-routes.ts';
import { grammarProblems } from '../support/told.ts';

const outcomeOf = (verb: Verb): string => (verb === 'decline' ? 'tool-output-denied' : 'tool-result');

const begin = (desk: Desk, messages: string): Promise<Chunk[]> =>
  desk.events('ada', '/api/agents/desk/stream', { messages });

async function follow(desk: Desk, who: Who, runId: string): Promise<Response> {
  const headers = { authorization: `Bearer ${who}` };
  return desk.app.request(`/api/runs/${runId}/events`, { headers });
}

function expectGrammar(chunks: readonly Chunk[]): void {
  expect(grammarProblems(chunks as never)).toEqual([]);
}

const moves: readonly (readonly [string, Verb, object])[] = [
  ['delete a', 'approve', {}],
  ['delete a', 'decline', { reason: 'No.' }],
  ['delete a', 'resume', { data: { approved: true } }],
  ['book a', 'resume', { data: { seats: 1 } }],
  ['book a', 'decline', {}],
  ['look b and delete a', 'approve', {}],
];

/** A resume is always streamed. */
const twins = moves.filter(([, verb]) => verb !== 'resume');

describe('scenario: K14', () => {
  test.each(moves)('%s, %s: the stream of the decision is as the first one', async (messages, verb, more) => {
    const desk = openDesk();
    const first = await begin(desk, messages);
    const [held] = stopsIn(first);
    const { body } = await ofStreams.decide(desk, 'ada', held, verb, more);
    const later: Chunk[] = body.chunks;
    for (const chunks of [first, later]) expectGrammar(chunks);
    expect(later[0]?.payload).toEqual(first[0]?.payload);
    const { toolCallId, toolName } = held;
    const own = later.filter(({ payload }) => payload?.toolCallId === toolCallId);
    expect(own.map(({ type }) => type)).toEqual(['tool-call', outcomeOf(verb)]);
    expect(own[0]?.payload).toMatchObject({ toolName, args: { what: 'a' }, replayed: true });
    expect(later.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'stop' } });
  });

  test.each(twins)('%s, %s: the twin says the same as the stream', async (messages, verb, more) => {
    const [streamed, whole] = [openDesk(), openDesk()];
    const [held] = stopsIn(await begin(streamed, messages));
    const { body } = await ofStreams.decide(streamed, 'ada', held, verb, more);
    const { body: output } = await ofGenerates.decide(
      whole,
      'ada',
      stopsIn(await begin(whole, messages))[0],
      verb,
      more,
    );
    const chunks: Chunk[] = body.chunks;
    expect(output.text).toBe(chunks.map(({ payload }) => payload.text ?? '').join(''));
    expect(output.finishReason).toBe(chunks.at(-1)?.payload.finishReason);
    const results = chunks.filter(({ type }) => type === 'tool-result').map(({ payload }) => payload.result);
    expect(output.toolResults.map(({ payload }: Chunk) => payload.result)).toEqual(results);
  });

  test.each(moves)(
    '%s, %s on the approvals route: all who follow are told all, once',
    async (messages, verb, more) => {
      const gate = Promise.withResolvers<void>();
      const asking = Promise.withResolvers<void>();
      const model = scriptedModel((prompt) => {
        if (prompt.at(-1)?.role !== 'tool') {
          const names = messages.split(' and ').map((part) => part.split(' ')[0] ?? '');
          return { text: 'Let me. ', calls: names.map((toolName) => ({ toolName, args: { what: 'a' } })) };
        }
        asking.resolve();
        return { delayUntil: gate.promise, text: 'Done.' };
      });
      const desk = openDesk({ agent: { model } });
      const [held] = stopsIn(await begin(desk, messages));
      const { runId, toolCallId } = held;
      const before = eventsIn(await (await follow(desk, 'ada', runId)).text());
      expectGrammar(before);
      expect(before.at(-1)).toMatchObject({ payload: { finishReason: 'suspended' } });
      const path = `/api/approvals/${runId}/${toolCallId}/${verb}`;
      expect((await desk.post('ada', path, { stop: 1, ...more })).status).toBe(202);
      await asking.promise;
      const following = await Promise.all([follow(desk, 'ada', runId), follow(desk, 'rita', runId)]);
      gate.resolve();
      for (const response of following) {
        const chunks = eventsIn(await response.text());
        expectGrammar(chunks);
        const own = chunks
          .filter(({ payload }) => payload?.toolCallId === toolCallId)
          .map(({ type }) => type);
        expect(own.filter((type) => type === 'tool-call')).toHaveLength(1);
        expect(own.at(-1)).toBe(outcomeOf(verb));
        const texts = chunks.filter(({ type }) => type === 'text-delta').map(({ payload }) => payload.text);
        expect(texts).toEqual(['Let me. ', 'Done.']);
        expect(chunks.at(-1)).toMatchObject({ payload: { finishReason: 'stop' } });
      }
      // Who comes after the end is told how it ended.
      const after = eventsIn(await (await follow(desk, 'rita', runId)).text());
      expectGrammar(after);
      expect(after.map(({ payload }) => payload.text ?? '').join('')).toContain('Done.');
    },
  );
});
