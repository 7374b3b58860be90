/** Fixed tokens, for services and small teams. */
import { CountersignError } from '../core/errors.ts';
import { sha256 } from '../core/json.ts';
import { type Authenticate, bearerOf, checkedIdentity, type Identity } from './identity.ts';

const hashPattern = /^sha256:([0-9a-f]{64})$/;

/**
 * Lets in who sends one of these tokens as `authorization: Bearer <token>`. A key is a token, or, so that no token need
 * stand in your configuration, `sha256:` and its SHA-256 in hexadecimal digits. Only hashes are kept, and each request
 * is compared with all of them in a time that does not depend on the token.
 * @example bearerTokens({ [process.env.ADA_TOKEN ?? '']: { id: 'ada', resourceId: 'ada' } })
 * @throws `invalid-option` for an empty token, and for what is no identity.
 */
export function bearerTokens(tokens: Readonly<Record<string, Identity>>): Authenticate {
  const known = Object.entries(tokens).map(([token, given]) => {
    if (token === '' || token === 'undefined') {
      throw new CountersignError('invalid-option', 'A bearer token is empty.', {
        expected: 'a long random text, or sha256:<64 hexadecimal digits>',
      });
    }
    return { hash: hashPattern.exec(token)?.[1] ?? sha256(token), identity: identityIn(given) };
  });
  return async (request) => {
    const token = bearerOf(request);
    if (token === undefined) return null;
    const given = await sha256(token);
    let found: Identity | null = null;
    for (const { hash, identity } of known) if (isSame(given, await hash)) found = identity;
    return found;
  };
}

function identityIn(given: Identity): Identity {
  try {
    const identity = checkedIdentity(given);
    if (identity) return identity;
  } catch {
    // Falls through.
  }
  throw new CountersignError('invalid-option', 'A bearer token has no identity.', {
    expected: '{ id, name?, roles?, resourceId? }',
  });
}

/** Looks at every digit, wherever the first difference is. */
function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index++) {
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  }
  return difference === 0;
}
