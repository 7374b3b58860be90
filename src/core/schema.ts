/**
 * Schemas as people bring them: any Standard Schema with JSON Schema (zod 4, arktype, valibot with its adapter), or
 * the object that the AI SDK's `jsonSchema()` makes.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { CountersignError, messageOf } from './errors.ts';
import { type JsonObject, toJson } from './json.ts';

/** What the AI SDK's `jsonSchema()` makes: a JSON Schema, and a validator if one was given. */
export interface JsonSchemaWrapper<T = unknown> {
  readonly _type: T;
  readonly jsonSchema: unknown;
  readonly validate?: ((value: unknown) => unknown) | undefined;
}

export type Schema<T = unknown> = StandardSchemaV1<unknown, T> | JsonSchemaWrapper<T>;

/** The type that a value has after the schema accepted it. */
export type SchemaOutput<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends JsonSchemaWrapper<infer T>
    ? T
    : unknown;

/** The type of a value that is given to the schema. */
export type SchemaInput<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : S extends JsonSchemaWrapper<infer T>
    ? T
    : unknown;

type Validation =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly string[] };

/** Validates a value. A schema that throws refuses. Without a schema, everything passes. */
export async function validate(schema: Schema | undefined, value: unknown): Promise<Validation> {
  if (schema === undefined) return { ok: true, value };
  try {
    return '~standard' in schema ? await byStandard(schema, value) : await byWrapper(schema, value);
  } catch (thrown) {
    return { ok: false, issues: [messageOf(thrown)] };
  }
}

async function byStandard(schema: StandardSchemaV1, value: unknown): Promise<Validation> {
  const outcome = schema['~standard'].validate(value);
  const result = outcome instanceof Promise ? await outcome : outcome;
  if (!result.issues) return { ok: true, value: result.value };
  return {
    ok: false,
    issues: result.issues.map((issue) => {
      const path = (issue.path ?? [])
        .map((part) => String(typeof part === 'object' ? part.key : part))
        .join('.');
      return path === '' ? issue.message : `${path}: ${issue.message}`;
    }),
  };
}

async function byWrapper(schema: JsonSchemaWrapper, value: unknown): Promise<Validation> {
  if (schema.validate === undefined) return { ok: true, value };
  const result = (await schema.validate(value)) as { success: boolean; value?: unknown; error?: unknown };
  return result.success
    ? { ok: true, value: result.value }
    : { ok: false, issues: [messageOf(result.error)] };
}

/** Whether something can serve as a schema. */
export function isSchema(value: unknown): value is Schema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  return '~standard' in value || 'jsonSchema' in value;
}

/**
 * The JSON Schema (draft 7) of what the schema takes in.
 * @throws `invalid-tool` when the schema has none.
 */
export async function jsonSchemaOf(schema: Schema, what: string): Promise<JsonObject> {
  try {
    if (!('~standard' in schema)) return toJson(await schema.jsonSchema, what) as JsonObject;
    const converter = (
      schema['~standard'] as { jsonSchema?: { input(options: { target: string }): Record<string, unknown> } }
    ).jsonSchema;
    if (converter) return toJson(converter.input({ target: 'draft-07' }), what) as JsonObject;
  } catch (cause) {
    throw new CountersignError('invalid-tool', `The ${what} has no JSON Schema: ${messageOf(cause)}`, {
      todo: 'Use types that JSON Schema can describe (for instance an ISO string in place of a date).',
      cause,
    });
  }
  throw new CountersignError('invalid-tool', `The ${what} has no JSON Schema.`, {
    expected: 'a Standard Schema with JSON Schema (zod 4, arktype, valibot through toStandardJsonSchema)',
    todo: "Or wrap a JSON Schema with the AI SDK's jsonSchema().",
  });
}
