/** How schemas of answers are written: each has the fields of a type, and does not compile when one is missing. */

export type Schema = Readonly<Record<string, unknown>>;

/** The fields that may be left out. */
type OptionalKeys<T> = { [Key in keyof T]-?: undefined extends T[Key] ? Key : never }[keyof T];

/** @param optional each field that may be left out. */
export function answer<T extends object>(
  properties: { readonly [Key in keyof T]-?: Schema },
  ...optional: readonly OptionalKeys<T>[]
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.some((key) => key === name));
  return { type: 'object', properties, required, additionalProperties: false };
}

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const listOf = (items: Schema): Schema => ({ type: 'array', items });
export const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values });
export const oneOf = (...words: readonly string[]): Schema => ({ enum: words });
export const told = (description: string, schema: Schema): Schema => ({ description, ...schema });

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
export const whole: Schema = { type: 'integer' };
export const moment: Schema = { type: 'string', format: 'date-time' };
export const milliseconds = told('Milliseconds since 1970.', whole);
export const any: Schema = { description: 'Any JSON.' };
export const object: Schema = { type: 'object' };
export const objects = listOf(object);
export const always: Schema = { const: true };

/** Of every list. */
export const page = { total: told('Exact up to 1,000.', whole), totalIsAtLeast: always, cursor: text };
