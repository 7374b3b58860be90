/** What the attacked server is made of: who knows which token, and how it is started. */
import type { Accept, Identity, ServerLimits } from '../../src/server/index.ts';

export const people = {
  ada: { id: 'ada', name: 'Ada', resourceId: 'ada' },
  ben: { id: 'ben', resourceId: 'ben' },
  rita: { id: 'rita', roles: ['reviewer'] },
  /** A reviewer whose runs are those of ada's resource. */
  cleo: { id: 'cleo', roles: ['reviewer'], resourceId: 'ada' },
  /** Somebody without runs. */
  paul: { id: 'paul' },
} as const satisfies Record<string, Identity>;

export type Who = keyof typeof people;

export const tokenOf = (who: Who): string => `secret-token-of-${who}`;

export interface VictimOptions {
  readonly database: string;
  readonly effects: string;
  /** Default: the tokens above. */
  readonly auth?: 'tokens' | 'none' | { readonly jwksUrl: string; readonly issuer: string };
  readonly limits?: ServerLimits;
  readonly accept?: Accept;
  readonly cors?: string;
}

/** What the process is asked over IPC. Each is answered by one message with the same number. */
export type Question =
  | { readonly ask: 'memory' }
  /** What somebody put where every object would have it. */
  | { readonly ask: 'polluted' }
  | { readonly ask: 'timeouts' }
  /** What models were asked since the last time. */
  | { readonly ask: 'prompts' }
  /** Lets the answers go on that wait. */
  | { readonly ask: 'answer' }
  | { readonly ask: 'stop' };

export interface Footprint {
  /** Bytes, after a collection. */
  readonly heap: number;
  readonly outside: number;
}

export type Told =
  | { readonly told: 'ready'; readonly port: number }
  | { readonly told: 'answer'; readonly number: number; readonly answer: unknown };
