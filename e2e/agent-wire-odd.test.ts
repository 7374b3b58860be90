/** What models write that no provider takes back: the next request must be one that it accepts all the same. */
import { describe, expect, test } from 'vitest';
import { openWire } from './support/wire.ts';
import { openDesk, requestsOf, settings } from './support/wire-desk.ts';
import { wireProviders } from './support/wire-providers.ts';

const [setting] = settings.filter(({ cold, face }) => cold && face === 'stream');
if (setting === undefined) throw new Error('There is no cold setting.');
const answer = { content: 'That is settled.' };
const refundText = '{"order":7,"amount":40}';

describe.each(wireProviders)('$name', (provider) => {
  test('an id that was used in an earlier step', async () => {
    const refund = { id: `${provider.idPrefix}1`, name: 'refund', arguments: refundText };
    const wire = await openWire([{ toolCalls: [refund] }, { toolCalls: [refund] }, answer]);
    const desk = openDesk(setting, () => provider.model(wire.connection));
    const { runId } = await desk.start();
    const second = await desk.approve(runId, { toolCallId: refund.id });
    expect(second.payloads).toHaveLength(1);
    const { toolCallId } = second.payloads[0];
    expect(toolCallId).not.toBe(refund.id);
    await desk.decline(runId, { toolCallId, reason: 'Once is enough.' });
    const requests = await requestsOf(wire, provider);
    expect(requests.at(-1)?.calls.map(({ id }) => id)).toEqual([refund.id, toolCallId]);
    expect(requests.at(-1)?.results.map(({ text }) => text)).toEqual([
      '{"refunded":40}',
      expect.stringContaining('Once is enough.'),
    ]);
    expect(desk.effects).toEqual(['refund 7 40 EUR']);
  });

  test('two calls of one response with one id, and an id with "~"', async () => {
    const ids = ['1', '1', '2~3'].map((id) => `${provider.idPrefix}${id}`);
    const toolCalls = ids.map((id) => ({ id, name: 'refund', arguments: refundText }));
    const wire = await openWire([{ toolCalls }, answer]);
    const desk = openDesk(setting, () => provider.model(wire.connection));
    const { runId, payloads } = await desk.start();
    expect(new Set(payloads.map(({ toolCallId }) => toolCallId)).size).toBe(3);
    await desk.decline(runId, { toolCallId: payloads[0].toolCallId, reason: 'first' });
    await desk.decline(runId, { toolCallId: payloads[2].toolCallId, reason: 'third' });
    await desk.decline(runId, { toolCallId: payloads[1].toolCallId, reason: 'second' });
    const [, request] = await requestsOf(wire, provider);
    expect(request?.calls.map(({ id }) => id)).toEqual(payloads.map(({ toolCallId }) => toolCallId));
    expect(request?.results.map(({ text }) => text.slice(-6))).toEqual([' first', 'second', ' third']);
  });

  test.each(['multi_tool_use.parallel', 'functions.refund', 'the refund tool', 'x'.repeat(65)])(
    'a tool name that is none: %s',
    async (name) => {
      const wire = await openWire([
        {
          toolCalls: [
            { id: `${provider.idPrefix}odd`, name, arguments: '{}' },
            { id: `${provider.idPrefix}held`, name: 'refund', arguments: refundText },
          ],
        },
        answer,
      ]);
      const desk = openDesk(setting, () => provider.model(wire.connection));
      const { runId } = await desk.start();
      expect(await desk.approve(runId)).toMatchObject({ text: 'That is settled.' });
      const [, request] = await requestsOf(wire, provider);
      expect(request?.results.map(({ failed }) => failed)).toEqual([true, false]);
    },
  );

  test.each(['', '[1]', '"7"', '7', 'null'])('arguments that are no object: %s', async (args) => {
    const toolCalls = [
      { id: `${provider.idPrefix}odd`, name: 'refund', arguments: args },
      { id: `${provider.idPrefix}held`, name: 'refund', arguments: refundText },
    ];
    const wire = await openWire([{ toolCalls }, answer]);
    const desk = openDesk(setting, () => provider.model(wire.connection));
    const { runId, payloads } = await desk.start();
    expect(payloads.map(({ toolCallId }) => toolCallId)).toEqual([toolCalls[1]?.id]);
    await desk.approve(runId);
    const [, request] = await requestsOf(wire, provider);
    expect(request?.results.map(({ failed }) => failed)).toEqual([true, false]);
  });
});

// aimock sends Anthropic only arguments that are JSON.
describe.each(wireProviders.filter(({ name }) => name !== 'anthropic'))('$name', (provider) => {
  test('arguments that are no JSON', async () => {
    const toolCalls = [
      { id: `${provider.idPrefix}odd`, name: 'refund', arguments: '{"order": 7, "amo' },
      { id: `${provider.idPrefix}held`, name: 'refund', arguments: refundText },
    ];
    const wire = await openWire([{ toolCalls }, answer]);
    const desk = openDesk(setting, () => provider.model(wire.connection));
    const { runId } = await desk.start();
    await desk.decline(runId, { reason: 'No.' });
    const [, request] = await requestsOf(wire, provider);
    expect(request?.results.map(({ failed }) => failed)).toEqual([true, false]);
    expect(request?.results[0]?.text).toContain('not valid JSON');
  });
});
