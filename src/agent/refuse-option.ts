/** The error of options that are known, and malformed. */
import { CountersignError } from '../core/errors.ts';

/** @throws `invalid-option` naming the option and what was expected. */
export function refuseOption(name: string, expected: string): never {
  throw new CountersignError('invalid-option', `The option ${name} is malformed.`, { expected });
}

/** Which page of a list is asked for. @throws `invalid-option`. */
export function checkPage({ perPage, page }: { readonly perPage: number; readonly page: number }): void {
  if (!Number.isInteger(perPage) || perPage < 1 || perPage > 1000) {
    refuseOption('perPage', 'a whole number from 1 to 1,000');
  }
  if (!Number.isInteger(page) || page < 0) refuseOption('page', 'a whole number from 0');
}
