/** An answer as an object, over real provider packages: what each of them asks of its model. */
import { Agent, createTool } from 'countersign';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../src/core/json.ts';
import { openWire } from './support/wire.ts';
import { wireProviders } from './support/wire-providers.ts';

const schema = z.object({ refunded: z.number(), note: z.string() });
const closed = {
  type: 'object',
  properties: { refunded: { type: 'number' }, note: { type: 'string' } },
  required: ['refunded', 'note'],
  additionalProperties: false,
};

/** Where a provider's body has the schema of the answer. */
const formatIn: Record<string, (body: JsonObject) => unknown> = {
  'openai chat': ({ response_format }) => (response_format as { json_schema: JsonObject }).json_schema.schema,
  'openai responses': ({ text }) => (text as { format: JsonObject }).format.schema,
  anthropic: ({ output_config }) => (output_config as { format: JsonObject }).format.schema,
};

describe.each(wireProviders)('$name', (provider) => {
  test('is asked for with every request, beside the tools, also in a later leg', async () => {
    const wire = await openWire([
      { toolCalls: [{ id: `${provider.idPrefix}1`, name: 'refund', arguments: '{}' }] },
      { content: '{"refunded":40,"note":"sent"}' },
    ]);
    const refund = createTool({
      id: 'refund',
      inputSchema: z.object({}),
      requireApproval: true,
      execute: async () => 40,
    });
    const agent = new Agent({ id: 'desk', model: provider.model(wire.connection), tools: { refund } });
    const { runId, object } = await agent.generate('Refund order 7.', { structuredOutput: { schema } });
    expect(object).toBeUndefined();
    const approved = await agent.approveToolCallGenerate({ runId, structuredOutput: { schema } });
    expect(approved.object).toEqual({ refunded: 40, note: 'sent' });
    expect(wire.sent).toHaveLength(2);
    for (const body of wire.sent) {
      expect(formatIn[provider.name]?.(body)).toMatchObject(closed);
      expect(provider.read(body).tools.map(({ name }) => name)).toEqual(['refund']);
    }
  });
});
