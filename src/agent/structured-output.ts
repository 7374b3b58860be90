/** Answers as objects: what the model is asked for, and by which schema its last text is read. */
import { CountersignError, messageOf } from '../core/errors.ts';
import type { RunStarted } from '../core/event.ts';
import { type JsonObject, sameJson, toJson } from '../core/json.ts';
import { isSchema, type Schema, type SchemaOutput } from '../core/schema.ts';
import { jsonSchemaBySdk } from '../models/ai-sdk.ts';
import { checkKeys, type KeysOf } from './known-keys.ts';

export interface StructuredOutput<Output extends Schema = Schema> {
  /** A Standard Schema with JSON Schema, such as `z.object({ … })`, or the AI SDK's `jsonSchema({ … })`. */
  readonly schema: Output;
}

/** What `object` is: the output of the schema that the leg was given, else any JSON. */
export type ObjectOf<Output extends Schema> = [Output] extends [never] ? unknown : SchemaOutput<Output>;

const structuredOutputKeys = { schema: true } as const satisfies KeysOf<StructuredOutput>;

/** @throws `invalid-option`. */
export function checkStructuredOutput(given: StructuredOutput | undefined): void {
  if (given === undefined) return;
  checkKeys(given, structuredOutputKeys, 'structuredOutput');
  if (isSchema(given.schema)) return;
  throw new CountersignError('invalid-option', 'The option structuredOutput has no schema.', {
    expected: '{ schema: z.object({ … }) }, or another Standard Schema, or jsonSchema({ … }) of the AI SDK',
  });
}

/** The JSON Schema of what the model is to write. @throws `invalid-option` when the schema has none. */
export async function jsonSchemaOfOutput({ schema }: StructuredOutput): Promise<JsonObject> {
  try {
    // As the AI SDK makes it: closed objects, which some providers insist on.
    const made = '~standard' in schema ? await jsonSchemaBySdk(schema) : await schema.jsonSchema;
    return toJson(made, 'structuredOutput.schema') as JsonObject;
  } catch (cause) {
    const why = `The schema of structuredOutput has no JSON Schema: ${messageOf(cause)}`;
    throw new CountersignError('invalid-option', why, {
      expected: 'a schema that JSON Schema can describe',
      cause,
    });
  }
}

/**
 * The schema by which a leg reads the answer. A later leg that does not bring one has that of the agent's defaults,
 * if it still is the one that the run was begun with, or none: the answer is then any JSON.
 */
export async function schemaOfLeg(
  given: StructuredOutput | undefined,
  ofDefaults: StructuredOutput | undefined,
  { options }: RunStarted,
): Promise<Schema | undefined> {
  if (given) return given.schema;
  if (!ofDefaults || options.outputSchema === undefined) return undefined;
  const isTheRuns = sameJson(options.outputSchema, await jsonSchemaOfOutput(ofDefaults));
  return isTheRuns ? ofDefaults.schema : undefined;
}

/** What is stored of the schema, so that later legs ask the model for the same. */
export async function outputSchemaOf({
  structuredOutput,
}: {
  readonly structuredOutput?: StructuredOutput | undefined;
}): Promise<{ readonly outputSchema?: JsonObject }> {
  return structuredOutput ? { outputSchema: await jsonSchemaOfOutput(structuredOutput) } : {};
}
