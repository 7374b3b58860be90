/**
 * Owns the border between values and JSON. What JSON cannot hold becomes its JSON form here, at the moment it is
 * produced, or an error that names the path: never later, never different after a restart.
 */
import canonicalize from 'canonicalize';
import { CountersignError } from './errors.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Levels of nesting that are kept: what is deeper overflows the stack of one reader or another. */
const deepest = 500;

/**
 * The JSON form of a value: what `JSON.parse(JSON.stringify(value))` gives where that keeps the meaning.
 * Properties that are `undefined` are dropped, `undefined` alone is `null`, bytes become base64.
 * @param what names the value in the error, for instance `result of tool "refund"`.
 * @throws `not-json` with the path, for functions, symbols, BigInt, NaN, Map, Set and cycles.
 */
export function toJson(value: unknown, what: string): Json {
  return convert(value, what, '', new Set()) ?? null;
}

function convert(value: unknown, what: string, path: string, above: Set<object>): Json | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      return refuse(what, path, String(value), 'a finite number');
    case 'undefined':
      return undefined;
    case 'object':
      return value === null ? null : convertObject(value, what, path, above);
    case 'bigint':
      return refuse(what, path, 'a BigInt', 'a number, or a string for large integers');
    default:
      return refuse(what, path, `a ${typeof value}`, 'a JSON value');
  }
}

function convertObject(value: object, what: string, path: string, above: Set<object>): Json | undefined {
  if (above.has(value)) return refuse(what, path, 'a cycle', 'a value that does not contain itself');
  if (above.size > deepest) return refuse(what, '', 'a deeper nesting', `at most ${deepest} levels`);
  if (value instanceof Uint8Array) return toBase64(value);
  if (value instanceof Map || value instanceof Set) {
    return refuse(what, path, `a ${value.constructor.name}`, 'an object or an array: convert it first');
  }
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof Promise) return refuse(what, path, 'a Promise', 'its value: await it first');
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return convert(value.valueOf(), what, path, above);
  }
  above.add(value);
  try {
    if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
      return convert((value as { toJSON(key: string): unknown }).toJSON(''), what, path, above);
    }
    if (Array.isArray(value)) {
      return Array.from(value, (item, index) => convert(item, what, `${path}[${index}]`, above) ?? null);
    }
    if (hidesAll(value)) return refuse(what, path, `a ${value.constructor.name}`, 'a value with a JSON form');
    const result: Record<string, Json> = {};
    for (const [key, item] of Object.entries(value)) {
      const converted = convert(item, what, path === '' ? key : `${path}.${key}`, above);
      if (converted !== undefined) setOwn(result, key, converted);
    }
    return result;
  } finally {
    above.delete(value);
  }
}

/** An instance of a class that shows nothing of itself: its JSON form would be `{}` without a word. */
function hidesAll(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null && Object.keys(value).length === 0;
}

function refuse(what: string, path: string, found: string, expected: string): never {
  throw new CountersignError(
    'not-json',
    `${what}${path === '' ? '' : ` at "${path}"`} holds ${found}, which JSON cannot hold.`,
    { expected },
  );
}

/** Sets a property without meaning anything special by `__proto__`. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

/** Whether a value is already JSON to the letter: it would come back from a store unchanged. */
export function isJson(value: unknown): value is Json {
  try {
    return sameShape(value, toJson(value, 'value'));
  } catch {
    return false;
  }
}

function sameShape(value: unknown, json: Json): boolean {
  if (typeof value !== 'object' || value === null) return value === json;
  if (typeof json !== 'object' || json === null) return false;
  const prototype = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    return Array.isArray(json) && value.every((item, index) => sameShape(item, json[index] as Json));
  }
  if (prototype !== Object.prototype && prototype !== null) return false;
  const keys = Reflect.ownKeys(value);
  return keys.every(
    (key) =>
      typeof key === 'string' &&
      Object.hasOwn(json, key) &&
      sameShape((value as Record<string, unknown>)[key], (json as JsonObject)[key] as Json),
  );
}

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let start = 0; start < bytes.length; start += 8192) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return btoa(binary);
}

/** Canonical JSON (RFC 8785). Throws for what it does not define: NaN, lone surrogates. */
export function canonicalJson(value: Json): string {
  return canonicalize(value) as string;
}

/** Whether a value is nested deeper than anything that can be kept. */
export function isTooDeep(value: Json, left = deepest): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((item) => isTooDeep(item, left - 1));
}

/** Whether two values have one canonical form: only the order of keys may differ. */
export function sameJson(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other) || canonicalJson(one) === canonicalJson(other);
}

/** SHA-256 of a text (UTF-8), as 64 lower-case hexadecimal digits. A platform may bring one that does not wait. */
export type Sha256 = (text: string) => string | Promise<string>;

/** SHA-256 by Web Crypto, which is everywhere. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * What an approval is bound to: SHA-256 over the canonical JSON (RFC 8785) of `{ v: 1, toolName, args }`, as 64
 * hexadecimal digits. The order of keys does not matter, everything else does.
 * @throws `not-json` when `args` is not JSON.
 */
export async function fingerprint(call: { toolName: string; args: unknown }): Promise<string> {
  const args = toJson(call.args, 'args');
  let canonical: string;
  try {
    canonical = canonicalJson({ v: 1, toolName: call.toolName, args });
  } catch (cause) {
    throw new CountersignError('not-json', 'The arguments have no canonical JSON form.', {
      expected: 'JSON without lone surrogates',
      cause,
    });
  }
  return sha256(canonical);
}
