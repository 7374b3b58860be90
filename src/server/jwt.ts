/** Tokens of an identity provider. */
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  errors as joseErrors,
  jwtVerify,
} from 'jose';
import { CountersignError } from '../core/errors.ts';
import { type Authenticate, bearerOf, type Identity } from './identity.ts';

export interface JwtOptions {
  /** Where the provider's public keys are. One of `jwksUrl`, `jwks` and `secret`. */
  readonly jwksUrl?: string | URL | undefined;
  /** The public keys themselves. */
  readonly jwks?: JSONWebKeySet | undefined;
  /** A shared secret of 32 bytes or more, for HS256, HS384 and HS512. */
  readonly secret?: string | Uint8Array | undefined;
  readonly issuer: string | readonly string[];
  readonly audience: string | readonly string[];
  /** Default: those that fit the kind of key. */
  readonly algorithms?: readonly string[] | undefined;
  /** Who the claims stand for; `null`, or an identity without an id, refuses. */
  readonly identityOf: (claims: JWTPayload) => Identity | null | Promise<Identity | null>;
}

const asymmetric = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'];
const publicKey = [...asymmetric, 'EdDSA', 'Ed25519'];
const shared = ['HS256', 'HS384', 'HS512'];

/**
 * Lets in who sends a JSON Web Token as `authorization: Bearer <token>` that is signed, not expired (`exp` must be
 * there), and made by `issuer` for `audience`.
 * @throws `invalid-option` unless there is exactly one source of keys, an issuer, an audience and `identityOf`.
 */
export function jwt(options: JwtOptions): Authenticate {
  const { jwksUrl, jwks, secret, issuer, audience, identityOf } = options;
  const sources = [jwksUrl, jwks, secret].filter((source) => source !== undefined);
  if (sources.length !== 1) refuse('keys', 'exactly one of jwksUrl, jwks and secret');
  if (!issuer?.length || !audience?.length) refuse('issuer and audience', 'both');
  if (typeof identityOf !== 'function') refuse('identityOf', '(claims) => identity or null');
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret;
  if (bytes && bytes.length < 32) refuse('secret', '32 bytes or more');
  const rules: JWTVerifyOptions = {
    issuer: typeof issuer === 'string' ? issuer : [...issuer],
    audience: typeof audience === 'string' ? audience : [...audience],
    algorithms: [...(options.algorithms ?? (bytes ? shared : publicKey))],
    requiredClaims: ['exp'],
  };
  const keys = jwksUrl ? createRemoteJWKSet(new URL(jwksUrl)) : jwks && createLocalJWKSet(jwks);
  const verified = (token: string) =>
    keys ? jwtVerify(token, keys, rules) : jwtVerify(token, bytes as Uint8Array, rules);
  return async (request) => {
    const token = bearerOf(request);
    if (token === undefined) return null;
    try {
      const { payload } = await verified(token);
      const identity = await identityOf(payload);
      // Its token is good, and says not who that is.
      return identity?.id ? identity : null;
    } catch (error) {
      if (isOfToken(error)) return null;
      throw error;
    }
  };
}

/** Whether the token is to blame, not the way to the keys. */
function isOfToken(error: unknown): boolean {
  return (
    error instanceof joseErrors.JOSEError &&
    !(error instanceof joseErrors.JWKSTimeout) &&
    error.code !== 'ERR_JOSE_GENERIC'
  );
}

function refuse(name: string, expected: string): never {
  throw new CountersignError('invalid-option', `The option ${name} of jwt() is malformed.`, { expected });
}
