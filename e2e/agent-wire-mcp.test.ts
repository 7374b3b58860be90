/** Calls that OpenAI runs itself over MCP, and asks about first: its question is a held call, our answer goes back. */
import { openai } from '@ai-sdk/openai';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../src/core/json.ts';
import { openAiServer, urlOf } from './support/servers.ts';
import { type Wire, wireTo } from './support/wire.ts';
import { type Desk, openDesk, settings } from './support/wire-desk.ts';
import type { Item } from './support/wire-formats.ts';
import { openAiResponses as provider } from './support/wire-providers.ts';
import { problemsOf } from './support/wire-rules.ts';

const question = (id: string, args = '{"id":7}'): object => ({
  id,
  type: 'mcp_approval_request',
  server_label: 'shop',
  name: 'delete',
  arguments: args,
});

const carriedOut = (id: string, requestId: string): object => ({
  id,
  type: 'mcp_call',
  server_label: 'shop',
  name: 'delete',
  arguments: '{"id":7}',
  status: 'completed',
  approval_request_id: requestId,
  output: 'deleted',
});

const refund = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'call_1',
  name: 'refund',
  arguments: '{"order":7,"amount":40}',
  status: 'completed',
};

const shop = openai.tools.mcp({
  serverLabel: 'shop',
  serverUrl: 'https://shop.example/mcp',
  requireApproval: 'always',
});

describe.each(settings)('$name', (setting) => {
  const open = async (...answers: object[][]): Promise<{ desk: Desk; wire: Wire }> => {
    const server = await openAiServer(answers);
    onTestFinished(() => void server.close());
    const wire = wireTo(urlOf(server));
    return { wire, desk: openDesk(setting, () => provider.model(wire.connection), { shop }) };
  };
  /** The input of the last of `count` requests, all of which are good and offer the server's tools. */
  const last = async (wire: Wire, count: number): Promise<Item[]> => {
    const received = await wire.received();
    expect(wire.sent).toHaveLength(count);
    wire.sent.forEach((body, index) => {
      expect(problemsOf(provider.name, body, received.slice(0, index)), `request ${index}`).toEqual([]);
      expect(body.tools).toContainEqual(
        expect.objectContaining({
          type: 'mcp',
          server_label: 'shop',
          server_url: 'https://shop.example/mcp',
          require_approval: 'always',
        }),
      );
    });
    return (wire.sent.at(-1) as JsonObject).input as unknown as Item[];
  };
  const pausedAt = async (desk: Desk): Promise<string> => {
    const { runId, payloads, finishReason } = await desk.start('Delete 7.');
    expect(finishReason).toBe('suspended');
    expect(payloads).toMatchObject([{ toolName: 'mcp.delete', args: { id: 7 }, stop: 1 }]);
    const listed = await desk.another().listSuspendedRuns();
    expect(listed.runs[0]?.toolCalls).toMatchObject([
      { toolName: 'mcp.delete', args: { id: 7 }, state: 'held', requiresApproval: true },
    ]);
    return runId;
  };

  test('approved: the provider is told so, once, and its result is in the run', async () => {
    const { desk, wire } = await open([question('mcpr_1')], [carriedOut('mcp_1', 'mcpr_1'), refund], []);
    const runId = await pausedAt(desk);
    expect(wire.sent).toHaveLength(1);
    const next = await desk.approve(runId);
    expect((await last(wire, 2)).slice(-2)).toEqual([
      { type: 'item_reference', id: 'mcpr_1' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
    ]);
    expect(next.payloads).toMatchObject([{ toolCallId: 'call_1', toolName: 'refund' }]);

    // The history goes on from there: the provider's own call is referred to, ours is answered.
    await desk.approve(runId);
    expect((await last(wire, 3)).slice(2)).toEqual([
      { type: 'item_reference', id: 'mcpr_1' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
      { type: 'item_reference', id: 'mcp_1' },
      { type: 'function_call', call_id: 'call_1', name: 'refund', arguments: refund.arguments },
      { type: 'function_call_output', call_id: 'call_1', output: '{"refunded":40}' },
    ]);
    expect(desk.effects).toEqual(['refund 7 40 EUR']);
  });

  test('declined: the provider is told so, and runs nothing', async () => {
    const { desk, wire } = await open([question('mcpr_1')], []);
    const runId = await pausedAt(desk);
    const done = await desk.decline(runId, { reason: 'Not today.' });
    expect(done.finishReason).toBe('stop');
    expect((await last(wire, 2)).slice(-2)).toEqual([
      { type: 'item_reference', id: 'mcpr_1' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: false },
    ]);
    await expect(desk.approve(runId)).rejects.toMatchObject({ code: 'already-decided' });
  });

  test('two questions and a held call of our own in one response, decided in another order', async () => {
    const { desk, wire } = await open([question('mcpr_1'), refund, question('mcpr_2', '{"id":8}')], []);
    const { runId, payloads } = await desk.start();
    expect(payloads.map(({ toolName, args }) => [toolName, args.id ?? args.order])).toEqual([
      ['mcp.delete', 7],
      ['refund', 7],
      ['mcp.delete', 8],
    ]);
    await desk.approve(runId, { toolCallId: payloads[2].toolCallId });
    await desk.decline(runId, { toolCallId: payloads[0].toolCallId, reason: 'Keep 7.' });
    expect(wire.sent).toHaveLength(1);
    await desk.approve(runId, { toolCallId: 'call_1' });
    const input = await last(wire, 2);
    expect(input.filter(({ type }) => type === 'mcp_approval_response')).toEqual([
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: false },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_2', approve: true },
    ]);
    expect(provider.read(wire.sent.at(-1) as JsonObject).results).toEqual([
      { id: 'call_1', text: '{"refunded":40}', failed: false },
    ]);
    expect(desk.effects).toEqual(['refund 7 40 EUR']);
  });

  test('another fingerprint is refused, and the provider hears nothing', async () => {
    const { desk, wire } = await open([question('mcpr_1')], []);
    const runId = await pausedAt(desk);
    await expect(desk.approve(runId, { fingerprint: 'f'.repeat(64) })).rejects.toMatchObject({
      code: 'fingerprint-mismatch',
    });
    await expect(desk.resume({ ok: true }, runId)).rejects.toMatchObject({ code: 'needs-verdict' });
    await last(wire, 1);
  });

  test('a policy that holds everything: only a server that asks first is offered', async () => {
    const server = await openAiServer([[question('mcpr_1')]]);
    onTestFinished(() => void server.close());
    const wire = wireTo(urlOf(server));
    const never = openai.tools.mcp({ serverLabel: 'bazaar', serverUrl: 'https://bazaar.example/mcp' });
    const desk = openDesk(setting, () => provider.model(wire.connection), { shop, never });
    const { payloads } = await desk.start('Delete 7.', { requireToolApproval: true });
    expect(payloads).toMatchObject([{ toolName: 'mcp.delete' }]);
    const tools = wire.sent[0]?.tools as unknown as Item[];
    expect(tools.filter(({ type }) => type === 'mcp')).toMatchObject([{ server_label: 'shop' }]);
  });
});
