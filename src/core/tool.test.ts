import { expect, test } from 'vitest';
import type { JsonObject } from './json.ts';
import { schemaOf } from './test-support/parts.ts';
import { mayAutoResume, toolOf } from './tool.ts';

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const boolean: JsonObject = { type: 'boolean' };
const text: JsonObject = { type: 'string' };

/** What is asked for, and whether a message may answer it where the tool says nothing. */
const schemas: readonly (readonly [string, JsonObject, boolean])[] = [
  ['a city', object({ city: text }), true],
  ['a city and a yes', object({ city: text, ok: boolean }), true],
  ['a number', { type: 'number' }, true],
  ['anything', {}, true],
  ['any object', { type: 'object' }, true],
  ['an object of anything', object({}, { additionalProperties: {} }), true],
  ['a list of booleans', { type: 'array', items: boolean }, true],
  ['a text or a yes', { anyOf: [text, boolean] }, true],
  ['a reference', { $ref: '#/definitions/city', definitions: { city: text } }, true],
  ['a yes', boolean, false],
  ['a yes or nothing', { anyOf: [boolean, { type: 'null' }] }, false],
  ['a yes or nothing, in one word', { type: ['boolean', 'null'] }, false],
  ['the one word true', { const: true }, false],
  ['booleans', object({ a: boolean, b: boolean }), false],
  ['booleans that may be left out', object({ a: boolean }, { required: [] }), false],
  ['booleans within an object', object({ a: object({ b: boolean }) }), false],
  [
    'a yes, and a reason that may be left out',
    object({ ok: boolean, reason: text }, { required: ['ok'] }),
    false,
  ],
  ['nothing', object({}), false],
  ['strictly nothing', object({}, { additionalProperties: false }), false],
];

test.each(schemas)('a tool that asks for %s', (_what, schema, isOpen) => {
  const tool = (autoResume?: boolean) =>
    toolOf({ id: 'ask', inputSchema: schemaOf(), execute: () => 1, autoResume });
  expect(mayAutoResume(tool(), schema)).toBe(isOpen);
  expect(mayAutoResume(tool(true), schema)).toBe(true);
  expect(mayAutoResume(tool(false), schema)).toBe(false);
  expect(mayAutoResume(tool('yes' as never), schema)).toBe(false);
});

test('a tool that a client carries out is closed, unless it says what it is resumed with', () => {
  const schema = object({ city: text });
  const tool = (more: object) => toolOf({ id: 'ask', inputSchema: schemaOf(), ...more });
  expect(mayAutoResume(tool({ outputSchema: schemaOf() }), schema)).toBe(false);
  expect(mayAutoResume(tool({ outputSchema: schemaOf(), autoResume: true }), schema)).toBe(true);
  expect(mayAutoResume(tool({ resumeSchema: schemaOf() }), schema)).toBe(true);
  expect(mayAutoResume(tool({ resumeSchema: schemaOf(), autoResume: false }), schema)).toBe(false);
});
