/** What a body or a query may hold: each field with its check and its JSON Schema, from one table. */

import { expectedId, isId } from '../agent/ids.ts';
import { CountersignError } from '../core/errors.ts';

export interface Field {
  /** JSON Schema, for the OpenAPI document. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required?: true;
  /** What is wrong with a value, in words. */
  problem(value: unknown): string | undefined;
}

export type Fields = Readonly<Record<string, Field>>;

const whole = { type: 'integer', minimum: 1 };

function field(schema: Field['schema'], expected: string, isGood: (value: unknown) => boolean): Field {
  return { schema, problem: (value) => (isGood(value) ? undefined : `must be ${expected}`) };
}

/** An id as every database can hold it. */
export const id = field({ type: 'string', minLength: 1 }, expectedId, isId);
/** Of a call, also of one far below: ids joined by `~`. */
export const callId = field({ type: 'string', minLength: 1 }, expectedId, (value) => {
  return typeof value === 'string' && value.length <= 4000 && value.split('~').every(isId);
});
/** Of a page of a list. What it means is known to the list alone. */
export const cursor = field({ type: 'string', minLength: 1 }, 'a cursor', (value) => {
  return typeof value === 'string' && value !== '';
});
export const text = field({ type: 'string' }, 'a string', (value) => typeof value === 'string');
export const count = field(whole, 'a whole number from 1', (value) => {
  return Number.isSafeInteger(value) && (value as number) >= 1;
});
export const flag = field({ type: 'boolean' }, 'true or false', (value) => typeof value === 'boolean');
export const onlyTrue = field({ const: true }, 'true, or left out', (value) => value === true);
export const anything: Field = { schema: {}, problem: () => undefined };
export const object = field({ type: 'object' }, 'an object', isObject);

export function required(one: Field): Field & { readonly required: true } {
  return { ...one, required: true };
}

export function oneOf(...words: readonly string[]): Field {
  return field({ enum: words }, `one of: ${words.join(', ')}`, (value) => words.includes(value as string));
}

/** Of a query: digits. */
export const digits = field({ type: 'integer', minimum: 0 }, 'a whole number from 0', (value) => {
  return typeof value === 'string' && /^\d{1,9}$/.test(value);
});

/** Of a query: a moment, as `Date` reads it. */
export const moment = field(
  { type: 'string', format: 'date-time' },
  'a date and time (ISO 8601)',
  (value) => {
    return typeof value === 'string' && Number.isFinite(Date.parse(value));
  },
);

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Checks what came against the table.
 * @param prefix of the names of fields that are in another one.
 * @throws `invalid-request` naming each field that is wrong, is missing, or is not taken.
 */
export function checkFields(
  given: Readonly<Record<string, unknown>>,
  fields: Fields,
  where: 'body' | 'query',
  prefix = '',
): void {
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(fields, name));
  const issues = [
    ...unknown.map((name) => `${prefix}${name}: is not taken from a ${where}`),
    ...Object.entries(fields).flatMap(([name, { required: isRequired, problem }]) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined) return isRequired ? [`${prefix}${name}: is missing`] : [];
      const wrong = problem(value);
      return wrong ? [`${prefix}${name}: ${wrong}`] : [];
    }),
  ];
  if (issues.length > 0) throw invalid(where, issues);
}

/** An answer is not longer than a person reads, whatever was sent. */
const issuesAtMost = 20;
const charactersOfIssue = 200;

export function invalid(where: string, all: readonly string[]): CountersignError {
  const issues = all.slice(0, issuesAtMost).map((issue) => issue.slice(-charactersOfIssue));
  return new CountersignError('invalid-request', `The ${where} is not valid: ${issues.join('; ')}.`, {
    issues,
  });
}

/** The JSON Schema of a body. */
export function schemaOf(fields: Fields): Record<string, unknown> {
  const names = Object.entries(fields);
  const must = names.filter(([, one]) => one.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map(([name, { schema }]) => [name, schema])),
    ...(must.length > 0 ? { required: must } : {}),
    additionalProperties: false,
  };
}
