/** The longest id, in bytes of UTF-8: four of them fit into one row of an index in every database. */
const bytesAtMost = 500;

/** What every database can hold as an id. */
export function isId(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= bytesAtMost &&
    value.isWellFormed() &&
    !value.includes('\0') &&
    // No character takes more than three bytes for each of its units.
    (value.length * 3 <= bytesAtMost || new TextEncoder().encode(value).length <= bytesAtMost)
  );
}

export const expectedId = 'a string that is not empty, of whole characters, of 500 bytes or less';
