import { jsonSchema } from 'ai';
import { type } from 'arktype';
import { expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { runStarted, withOptions } from '../core/test-support/events.ts';
import { checkStructuredOutput, jsonSchemaOfOutput, schemaOfLeg } from './structured-output.ts';

const expected = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
};

test.each([
  ['zod', z.object({ name: z.string() })],
  ['zod mini', mini.object({ name: mini.string() })],
  ['arktype', type({ name: 'string' })],
  ['jsonSchema()', jsonSchema(expected as never)],
])('the JSON Schema of %s is closed', async (_, schema) => {
  expect(await jsonSchemaOfOutput({ schema })).toMatchObject(expected);
});

test('a schema without JSON Schema is refused', async () => {
  await expect(jsonSchemaOfOutput({ schema: z.object({ at: z.date() }) })).rejects.toMatchObject({
    code: 'invalid-option',
  });
});

test.each([[null], ['x'], [{}], [{ schema: {} }], [{ schema: z.string(), mode: 'x' }]])(
  '%o is refused',
  (given) => {
    expect(() => checkStructuredOutput(given as never)).toThrow(/structuredOutput/);
  },
);

test('a leg that brings no schema has that of the defaults only if the run was begun with it', async () => {
  const schema = z.object({ name: z.string() });
  const other = z.object({ age: z.number() });
  const begun = withOptions({ outputSchema: await jsonSchemaOfOutput({ schema }) });
  expect(await schemaOfLeg({ schema: other }, { schema }, begun)).toBe(other);
  expect(await schemaOfLeg(undefined, { schema }, begun)).toBe(schema);
  expect(await schemaOfLeg(undefined, { schema: other }, begun)).toBeUndefined();
  expect(await schemaOfLeg(undefined, undefined, begun)).toBeUndefined();
  expect(await schemaOfLeg(undefined, { schema }, runStarted())).toBeUndefined();
});
