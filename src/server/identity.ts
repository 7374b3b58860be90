/** Who asks: what `authenticate` says of a request, and nothing that its body says. */
import { isId } from '../agent/ids.ts';
import type { Person } from '../core/event.ts';

/** Somebody who is known. */
export interface Identity {
  /** Recorded with each decision. */
  readonly id: string;
  readonly name?: string | undefined;
  /** `'reviewer'` may see and decide the runs of others. Other roles are yours. */
  readonly roles?: readonly string[] | undefined;
  /** Whose runs and threads are this identity's: a user, a tenant. Left out, it has none. */
  readonly resourceId?: string | undefined;
}

/** Says who sends a request; `null` for nobody. */
export type Authenticate = (
  request: Request,
) => Identity | null | undefined | Promise<Identity | null | undefined>;

/** Whom a decision is recorded for. */
export function personOf(identity: Identity | undefined): { readonly by?: Person } {
  if (identity === undefined) return {};
  const { id, name } = identity;
  return { by: { id, ...(name === undefined ? {} : { name }) } };
}

/** What `authenticate` gave, if it is an identity. @throws TypeError for anything else: then nobody is let in. */
export function checkedIdentity(given: unknown): Identity | undefined {
  if (given === null || given === undefined) return undefined;
  const { id, name, roles, resourceId } = given as Partial<Record<keyof Identity, unknown>>;
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  const isGood =
    isText(id) &&
    (name === undefined || typeof name === 'string') &&
    (roles === undefined || (Array.isArray(roles) && roles.every((role) => typeof role === 'string'))) &&
    (resourceId === undefined || isId(resourceId));
  if (!isGood) {
    throw new TypeError('authenticate gave no identity: { id, name?, roles?: [], resourceId? } or null.');
  }
  return { id, name, roles, resourceId } as Identity;
}

/** The token of `authorization: Bearer <token>`. */
export function bearerOf(request: Request): string | undefined {
  const [, token] = /^Bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  return token;
}
