/** An agent in a registry on a SQLite file, over real provider packages: what goes over the wire at each pause. */
import { describe, expect, test } from 'vitest';
import { type Answer, openWire, type ScriptedToolCall, type Wire } from './support/wire.ts';
import { acrossSettings, type Desk, openDesk, requestsOf, settings } from './support/wire-desk.ts';
import type { WireRequest } from './support/wire-formats.ts';
import { wireProviders } from './support/wire-providers.ts';

const declined = 'A person declined this call; it was not carried out.';
const answer: Answer = { content: 'That is settled.' };

describe.each(wireProviders)('$name', (provider) => {
  describe.each(acrossSettings)('$name', (setting) => {
    const call = (id: string, name: string, args: string): ScriptedToolCall => ({
      id: `${provider.idPrefix}${id}`,
      name,
      arguments: args,
    });
    const open = async (...answers: Answer[]): Promise<{ desk: Desk; wire: Wire }> => {
      const wire = await openWire(answers);
      return { wire, desk: openDesk(setting, () => provider.model(wire.connection)) };
    };
    /** The last of `count` requests, all of which the provider would have accepted. */
    const last = async (wire: Wire, count: number): Promise<WireRequest> => {
      const requests = await requestsOf(wire, provider);
      expect(requests).toHaveLength(count);
      return requests.at(-1) as WireRequest;
    };

    // The order of the keys, and a key that the schema does not know: as the model wrote it, with no default.
    const refund = call('refund', 'refund', '{"why":"broken","amount":40,"order":7}');

    test('pause, approve, answer', async () => {
      const { desk, wire } = await open({ content: 'One moment.', toolCalls: [refund] }, answer);
      const paused = await desk.start();
      expect(paused).toMatchObject({ finishReason: 'suspended', text: 'One moment.' });
      expect(paused.payloads).toMatchObject([
        { toolCallId: refund.id, toolName: 'refund', args: { order: 7, amount: 40, currency: 'EUR' } },
      ]);
      expect(desk.effects).toEqual([]);
      expect(wire.sent).toHaveLength(1);

      const done = await desk.approve(paused.runId);
      expect(done).toMatchObject({ finishReason: 'stop', text: 'That is settled.' });
      expect(desk.effects).toEqual(['refund 7 40 EUR']);
      const { calls, results } = await last(wire, 2);
      expect(calls).toEqual([refund]);
      expect(results).toEqual([{ id: refund.id, text: '{"refunded":40}', failed: false }]);
    });

    test('pause, decline with a reason, answer', async () => {
      const { desk, wire } = await open({ toolCalls: [refund] }, answer);
      const { runId } = await desk.start();
      const done = await desk.decline(runId, { toolCallId: refund.id, reason: 'That is too "much".' });
      expect(done).toMatchObject({ finishReason: 'stop', text: 'That is settled.' });
      expect(desk.effects).toEqual([]);
      const { calls, results } = await last(wire, 2);
      expect(calls).toEqual([refund]);
      expect(results).toEqual([
        { id: refund.id, text: `${declined} Reason: That is too "much".`, failed: false },
      ]);
    });

    test('suspend, resume with data, answer', async () => {
      const ask = call('ask', 'ask', '{"question":"Was it broken?"}');
      const { desk, wire } = await open({ toolCalls: [ask] }, answer);
      const paused = await desk.start();
      expect(paused.payloads).toMatchObject([{ suspendPayload: { question: 'Was it broken?' } }]);
      await expect(desk.resume({ answer: 7 }, paused.runId)).rejects.toMatchObject({
        code: 'invalid-resume-data',
      });
      expect(wire.sent).toHaveLength(1);

      const done = await desk.resume({ answer: 'Yes.' }, paused.runId);
      expect(done).toMatchObject({ finishReason: 'stop', text: 'That is settled.' });
      expect(desk.effects).toEqual(['ask Yes.']);
      const { calls, results } = await last(wire, 2);
      expect(calls).toEqual([ask]);
      expect(results).toEqual([{ id: ask.id, text: '{"answer":"Yes."}', failed: false }]);
    });

    test('suspend, decline with a reason, answer', async () => {
      const ask = call('ask', 'ask', '{"question":"Was it broken?"}');
      const { desk, wire } = await open({ toolCalls: [ask] }, answer);
      const { runId } = await desk.start();
      await desk.decline(runId, { reason: 'Nobody knows.' });
      const { results } = await last(wire, 2);
      expect(results).toMatchObject([{ id: ask.id, failed: false }]);
      expect(results[0]?.text).toMatch(/declined.*not completed\. Reason: Nobody knows\.$/);
    });

    test.each(['the approval first', 'the decline first'])(
      'two held calls beside a free one, %s',
      async (order) => {
        const toolCalls = [
          refund,
          call('find', 'find', '{"order":7}'),
          call('refund_2', 'refund', '{"order":8,"amount":900,"currency":"USD"}'),
        ];
        const { desk, wire } = await open({ content: 'I will see.', toolCalls }, answer);
        const { runId, payloads } = await desk.start();
        expect(payloads.map(({ toolCallId }) => toolCallId)).toEqual([refund.id, toolCalls[2]?.id]);
        expect(desk.effects).toEqual(['find 7']);

        const decisions = [
          () => desk.approve(runId, { toolCallId: refund.id }),
          () => desk.decline(runId, { toolCallId: toolCalls[2]?.id, reason: 'Not that one.' }),
        ];
        if (order === 'the decline first') decisions.reverse();
        const half = await decisions[0]?.();
        expect(half?.finishReason).toBe('suspended');
        expect(wire.sent).toHaveLength(1);
        expect(await decisions[1]?.()).toMatchObject({ finishReason: 'stop', text: 'That is settled.' });
        expect(desk.effects).toEqual(['find 7', 'refund 7 40 EUR']);
        const { calls, results } = await last(wire, 2);
        expect(calls).toEqual(toolCalls);
        expect(results).toEqual([
          { id: refund.id, text: '{"refunded":40}', failed: false },
          { id: toolCalls[1]?.id, text: 'Order 7: one chair.', failed: false },
          { id: toolCalls[2]?.id, text: `${declined} Reason: Not that one.`, failed: false },
        ]);
      },
    );

    test('a free tool and an approved one that fail', async () => {
      const toolCalls = [
        call('find', 'find', '{"order":0}'),
        call('refund', 'refund', '{"order":7,"amount":5000}'),
      ];
      const { desk, wire } = await open({ toolCalls }, answer);
      const { runId } = await desk.start();
      const done = await desk.approve(runId);
      expect(done).toMatchObject({ finishReason: 'stop', text: 'That is settled.' });
      expect(desk.effects).toEqual(['find 0', 'refund 7 5000 EUR']);
      const { calls, results } = await last(wire, 2);
      expect(calls).toEqual(toolCalls);
      expect(results).toEqual([
        { id: toolCalls[0]?.id, text: 'There is no such order.', failed: true },
        { id: toolCalls[1]?.id, text: 'The bank refused.', failed: true },
      ]);
    });

    test('calls that are refused beside one that is held', async () => {
      const toolCalls = [
        call('wrong', 'refund', '{"order":"seven","amount":1}'),
        call('none', 'burn', '{"all":true}'),
        refund,
      ];
      const { desk, wire } = await open({ toolCalls }, answer);
      const { runId, payloads } = await desk.start();
      expect(payloads.map(({ toolCallId }) => toolCallId)).toEqual([refund.id]);
      await desk.approve(runId);
      const { calls, results } = await last(wire, 2);
      expect(calls).toEqual(toolCalls);
      expect(results.map(({ failed }) => failed)).toEqual([true, true, false]);
      expect(results[1]?.text).toContain('"burn"');
    });

    test('a second pause in the same run, then another turn', async () => {
      const again = call('again', 'refund', '{"order":9,"amount":1}');
      const { desk, wire } = await open(
        { content: 'First 7.', toolCalls: [refund] },
        { content: 'Now 9.', toolCalls: [again] },
        answer,
        { content: 'You are welcome.' },
      );
      const { runId } = await desk.start();
      const second = await desk.approve(runId);
      expect(second.payloads.map(({ toolCallId }) => toolCallId)).toEqual([again.id]);
      const done = await desk.decline(runId, { reason: 'Once is enough.' });
      const third = await last(wire, 3);
      expect(third.calls).toEqual([refund, again]);
      expect(third.results.map(({ text }) => text)).toEqual([
        '{"refunded":40}',
        `${declined} Reason: Once is enough.`,
      ]);

      const history = done.messages;
      expect((await desk.start([...history, { role: 'user', content: 'Thanks.' }])).text).toBe(
        'You are welcome.',
      );
      expect(await last(wire, 4)).toEqual(third);
    });

    test('the model call after an approval fails, and is tried again', async () => {
      const { desk, wire } = await open({ toolCalls: [refund] });
      const { runId } = await desk.start();
      const stalled = await desk.approve(runId);
      expect(stalled).toMatchObject({ finishReason: 'error', error: { code: 'run-stalled' } });
      await desk.continueRun(runId);
      expect(desk.effects).toEqual(['refund 7 40 EUR']);
      const { calls, results } = await last(wire, 3);
      expect(calls).toEqual([refund]);
      expect(results).toEqual([{ id: refund.id, text: '{"refunded":40}', failed: false }]);
      expect(wire.sent[2]).toEqual(wire.sent[1]);
    });
  });
});

describe.each(wireProviders)('$name', (provider) => {
  test('warm or cold, streamed or not: the requests are the same, but for whether they ask for a stream', async () => {
    const bodies = await Promise.all(
      settings.map(async (setting) => {
        const toolCalls = ['{"amount":40,"order":7}', '{"order":8,"amount":1}'].map((args, index) => ({
          id: `${provider.idPrefix}${index}`,
          name: 'refund',
          arguments: args,
        }));
        const wire = await openWire([{ content: 'Both?', toolCalls }, answer]);
        const desk = openDesk(setting, () => provider.model(wire.connection));
        const { runId } = await desk.start();
        await desk.approve(runId, { toolCallId: toolCalls[1]?.id });
        await desk.decline(runId, { reason: 'No.' });
        await requestsOf(wire, provider);
        expect(wire.sent).toHaveLength(2);
        const asked = wire.sent.map(({ stream, stream_options: _, ...body }) => {
          expect(stream ?? false).toBe(setting.face === 'stream');
          return body;
        });
        // The server names its items anew each time; of tools, one provider says also there that it streams.
        return JSON.stringify(asked)
          .replace(/\b(msg|rs)[-_][\w-]+/g, '$1')
          .replaceAll(',"eager_input_streaming":true', '');
      }),
    );
    expect(new Set(bodies).size).toBe(1);
  });
});
