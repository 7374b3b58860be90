/**
 * Owns the answer to one question: is this key one that the method knows? A misspelt option would do nothing, and
 * what does nothing here may let a call run that should have waited.
 */
import { CountersignError, type ErrorCode } from '../core/errors.ts';

/** The keys of an options object. The type checker forces each table to be complete: `satisfies KeysOf<Options>`. */
export type KeysOf<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Refuses what is no object, and keys that are not in the table. A key whose value is `undefined` was not given.
 * @throws the code, naming the key and the nearest known one.
 */
export function checkKeys(
  given: unknown,
  known: Readonly<Record<string, true>>,
  where: string,
  code: ErrorCode = 'invalid-option',
): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new CountersignError(code, `The options of ${where} are no object.`, {
      expected: `an object with some of: ${Object.keys(known).join(', ')}`,
    });
  }
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(known, key)) continue;
    const names = Object.keys(known);
    const nearest = nearestOf(key, names);
    throw new CountersignError(code, `There is no option "${key}" of ${where}.`, {
      expected: nearest === undefined ? `one of: ${names.join(', ')}` : `perhaps ${nearest}`,
    });
  }
}

/** The name that somebody may have meant, if one is near. */
export function nearestOf(key: string, names: readonly string[]): string | undefined {
  const within = Math.max(2, Math.floor(key.length / 3));
  const [nearest] = names
    .map((name) => ({ name, distance: distanceOf(key.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= within)
    .sort((one, other) => one.distance - other.distance);
  return nearest?.name;
}

/** How many letters must be put in, taken out or changed to make one word of the other. */
export function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const above = row;
    row = [index + 1];
    for (let column = 1; column <= other.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === other.charAt(column - 1) ? 0 : 1);
      row.push(Math.min((above[column] ?? 0) + 1, (row[column - 1] ?? 0) + 1, replaced));
    }
  }
  return row[other.length] ?? 0;
}
