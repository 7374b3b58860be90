/** Schemas as the AI SDK takes them, as our core takes them. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonSchemaWrapper, Schema } from '../core/schema.ts';

const noArguments = { type: 'object', properties: {}, additionalProperties: false };

/**
 * A schema of an AI SDK tool: a Standard Schema (zod 3 and zod mini too), what `jsonSchema()` made, a function that
 * returns one of these, or nothing, which means no arguments.
 */
export function schemaFromAiSdk(schema: unknown): Schema {
  if (schema === undefined) return { _type: undefined, jsonSchema: noArguments };
  if (isStandard(schema)) return 'jsonSchema' in schema['~standard'] ? schema : withJsonSchema(schema);
  return typeof schema === 'function' ? schemaFromAiSdk(schema()) : (schema as Schema);
}

function isStandard(schema: unknown): schema is StandardSchemaV1 {
  return (
    ((typeof schema === 'object' && schema !== null) || typeof schema === 'function') && '~standard' in schema
  );
}

/** The AI SDK knows how to describe some schemas that cannot do it themselves. */
function withJsonSchema(schema: StandardSchemaV1): JsonSchemaWrapper {
  return {
    _type: undefined,
    get jsonSchema() {
      return import('./ai-sdk.ts').then(({ jsonSchemaBySdk }) => jsonSchemaBySdk(schema));
    },
    async validate(value) {
      const result = await schema['~standard'].validate(value);
      if (!result.issues) return { success: true, value: result.value };
      const issues = result.issues.map(({ path = [], message }) => {
        const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
        return at === '' ? message : `${at}: ${message}`;
      });
      return { success: false, error: new Error(issues.join('; ')) };
    },
  };
}
