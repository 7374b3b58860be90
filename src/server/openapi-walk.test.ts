/** Every operation of the OpenAPI document, at a server: what it takes, what it answers, each error that it names. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../core/errors.ts';
import { eventsIn, openDesk } from './test-support/desk.ts';
import {
  type Document,
  goodRequests,
  type Operation,
  openWorld,
  operationsOf,
  send,
} from './test-support/operations.ts';
import { provocations } from './test-support/provocations.ts';

const { body: document } = await openDesk().get('ada', '/api/openapi.json');
const operations = Object.entries(operationsOf(document));
const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true, validateFormats: true });
ajv.addKeyword('components');
ajv.addFormat('date-time', (text) => new Date(text).toISOString() === text);
ajv.addSchema({ $id: 'document', components: closed(document.components) });

/** What is not told is not there: a document that leaves something out is wrong, too. */
function closed(schema: Document): Document {
  const inside = Object.entries(schema).map(([key, value]) => {
    return [
      key,
      typeof value === 'object' && value !== null && !Array.isArray(value) ? closed(value) : value,
    ];
  });
  const { type, properties } = schema;
  const isTold = type === 'object' && typeof properties === 'object';
  return { ...Object.fromEntries(inside), ...(isTold ? { additionalProperties: false } : {}) };
}

const compiled = new Map<string, ValidateFunction>();

function expectValid(schema: object | false, value: unknown): void {
  const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
  const isValid = compiled.get(text) ?? ajv.compile(JSON.parse(text));
  compiled.set(text, isValid);
  expect({ errors: isValid(value) ? [] : isValid.errors, value }).toEqual({ errors: [], value });
}

function codesOf({ responses }: Operation): [string, ErrorCode][] {
  return Object.entries(responses).flatMap(([status, { content }]) => {
    const schema = content?.['application/json']?.schema as Document | undefined;
    const codes: ErrorCode[] = schema?.properties?.code?.enum ?? [];
    return codes.map((code): [string, ErrorCode] => [status, code]);
  });
}

test('each operation has a good request, and each code a way in which it comes about', () => {
  expect(Object.keys(goodRequests).toSorted()).toEqual(operations.map(([name]) => name).toSorted());
  const codes = new Set(operations.flatMap(([, operation]) => codesOf(operation).map(([, code]) => code)));
  expect(Object.keys(provocations).toSorted()).toEqual([...codes].toSorted());
});

test('a server that closes says that it is not ready, as documented', async () => {
  const { desk } = openWorld();
  await desk.app.close();
  const { responses } = operationsOf(document)['get /readyz'] as Operation;
  const { status, body } = await desk.get(undefined, '/readyz');
  expect(status).toBe(503);
  expectValid(responses[503]?.content?.['application/json']?.schema ?? false, body);
});

describe.each(operations)('%s', (name, operation) => {
  const prepare = goodRequests[name] ?? (async () => ({}));

  test('takes what it says that it takes, and answers what it says', async () => {
    const world = openWorld();
    const values = await prepare(world);
    const isIn = (where: string) =>
      new Set(operation.parameters.filter((one) => one.in === where).map((one) => one.name));
    const inBody = Object.entries(values).filter(
      ([key]) => !isIn('path').has(key) && !isIn('query').has(key),
    );
    if (operation.body) expectValid(operation.body, Object.fromEntries(inBody));
    else expect(inBody).toEqual([]);
    const { status, type, text } = await send(world.desk, operation, 'ada', values);
    const [good] = Object.keys(operation.responses);
    expect([String(status), text]).toEqual([good, text]);
    const schema = operation.responses[status]?.content?.[type]?.schema ?? {};
    if (type !== 'text/event-stream') return expectValid(schema, JSON.parse(text));
    expectValid(schema, text);
    if (text.startsWith('id: ')) return expect(text).toMatch(/^id: \S+\nevent: ready\ndata: \{\}\n\n$/);
    const kind = operation.path.includes('/chat')
      ? { type: 'object', required: ['type'] }
      : { $ref: '#/components/schemas/Chunk' };
    for (const chunk of eventsIn(text)) expectValid(kind, chunk);
    return undefined;
  });

  test.each(codesOf(operation))('%s %s', async (status, code) => {
    const { message, isNobody, change, at } = provocations[code] ?? {};
    const world = openWorld();
    const asked = typeof message === 'function' ? message(operation) : message;
    const values = await prepare(world, asked);
    const good = () => send(world.desk, operation, 'ada', values);
    const changed = await change?.({ world, operation, values, send: good });
    const desk = (await at?.(world, operation)) ?? world.desk;
    const answer = await send(desk, operation, isNobody ? undefined : 'ada', { ...values, ...changed });
    expect([String(answer.status), JSON.parse(answer.text).code]).toEqual([status, code]);
    expectValid(
      operation.responses[status]?.content?.['application/json']?.schema ?? {},
      JSON.parse(answer.text),
    );
  });
});
