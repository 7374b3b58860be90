/**
 * Owns who may see a run and who may decide a call. What is asked about are stored facts: nothing from a request but
 * who sends it.
 */
import type { PathStep } from '../core/below.ts';
import { CountersignError } from '../core/errors.ts';
import type { Authenticate, Identity } from './identity.ts';

/** What is known of a run, or of a thread (then without `runId`). */
export interface ReadFacts {
  readonly runId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
}

/** What is known of a call that somebody wants to decide. */
export interface CallFacts extends ReadFacts {
  readonly runId: string;
  readonly agentId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** Stored when the model asked for the call. */
  readonly approver: 'owner' | 'reviewer';
  readonly path?: readonly PathStep[] | undefined;
}

export interface Auth {
  readonly authenticate: Authenticate;
  /**
   * Who may see a run or a thread. Left out: the identities of its resource, and reviewers. It stands in for that rule
   * and is asked about each run of a list, so keep it cheap.
   */
  readonly canRead?: ((identity: Identity, run: ReadFacts) => boolean | Promise<boolean>) | undefined;
  /** Who of those whom the tool's `approver` allows may decide. It can refuse, never allow more. */
  readonly canDecide?: ((identity: Identity, call: CallFacts) => boolean | Promise<boolean>) | undefined;
}

export interface Access {
  /** Whether a list needs a look at each of its runs. */
  readonly looksAtEach: boolean;
  mayRead(identity: Identity | undefined, facts: ReadFacts): Promise<boolean>;
  mayDecide(identity: Identity | undefined, facts: CallFacts): Promise<boolean>;
  /** Whether a run that the identity sees may be continued or cancelled by it. Neither decides a call. */
  mayMove(identity: Identity | undefined, facts: ReadFacts): boolean;
  /**
   * The resource that a list is narrowed to. `'nothing'` where there is none to see.
   * @throws `forbidden` for another one than the identity's.
   */
  scopeOf(
    identity: Identity | undefined,
    asked: string | undefined,
  ): { readonly resourceId?: string } | 'nothing';
  /**
   * The resource that a run belongs to which the identity begins.
   * @throws `forbidden` when the request names another one, and for an identity that has none: it could not see its
   *   own run, and a reviewer would be no owner of it, and could approve what they asked for.
   */
  resourceFor(identity: Identity | undefined, asked: string | undefined): string | undefined;
}

/** @param auth left out, everybody who reaches this machine's own address is let in, as nobody. */
export function accessBy(auth: Auth | undefined): Access {
  const isOwner = (identity: Identity, { resourceId }: ReadFacts): boolean =>
    resourceId !== undefined && identity.resourceId === resourceId;
  const isReviewer = ({ roles = [] }: Identity): boolean => roles.includes('reviewer');
  const canRead = auth?.canRead;
  return {
    looksAtEach: canRead !== undefined,
    async mayRead(identity, facts) {
      if (auth === undefined) return true;
      if (identity === undefined) return false;
      if (canRead) return (await canRead(identity, facts)) === true;
      return isReviewer(identity) || isOwner(identity, facts);
    },
    async mayDecide(identity, facts) {
      if (auth === undefined) return true;
      if (identity === undefined) return false;
      const isTheirs = isOwner(identity, facts);
      const isAllowed =
        facts.approver === 'reviewer' ? isReviewer(identity) && !isTheirs : isTheirs || isReviewer(identity);
      if (!isAllowed) return false;
      return auth.canDecide === undefined || (await auth.canDecide(identity, facts)) === true;
    },
    mayMove: (identity, facts) =>
      auth === undefined || (identity !== undefined && (isOwner(identity, facts) || isReviewer(identity))),
    scopeOf(identity, asked) {
      const all = asked === undefined ? {} : { resourceId: asked };
      if (auth === undefined || canRead) return all;
      if (identity === undefined) return 'nothing';
      if (isReviewer(identity)) return all;
      const { resourceId } = identity;
      if (asked !== undefined && asked !== resourceId) throw foreignResource();
      return resourceId === undefined ? 'nothing' : { resourceId };
    },
    resourceFor(identity, asked) {
      if (auth === undefined) return asked;
      const own = identity?.resourceId;
      if (own === undefined) throw noResource();
      if (asked !== undefined && asked !== own) throw foreignResource();
      return own;
    },
  };
}

function noResource(): CountersignError {
  return new CountersignError('forbidden', 'You have no resource, so you begin no runs.', {
    expected: 'an identity with a resourceId',
  });
}

function foreignResource(): CountersignError {
  return new CountersignError('forbidden', 'The request names the resource of somebody else.', {
    expected: 'your own resource, or none',
  });
}
