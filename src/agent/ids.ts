/** What every database can hold as an id. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed() && !value.includes('\0');
}
