/** What a server process and the test that started it say to each other. */
import type { Place } from '../race/places.ts';

/** How a process is set up, given as its argument. */
export interface ServerOptions {
  readonly place: Place;
  readonly effects: string;
  /** Left out: any free one. */
  readonly port?: number;
  /** Who may ask: a token for each identity, which is its id. */
  readonly people: readonly Person[];
  /** After so many tools that were carried out, so many more stop where they are, and do not go on. */
  readonly stuck?: { readonly after: number; readonly many: number };
}

export interface Person {
  readonly id: string;
  readonly resourceId?: string;
  readonly roles?: readonly string[];
}

export type ToServer =
  /** `look` goes on, from now on. */
  { readonly type: 'look' };

export type FromServer =
  | { readonly type: 'listening'; readonly url: string }
  | { readonly type: 'looking' }
  /** As many tools as were to be stuck are. */
  | { readonly type: 'stuck' }
  | { readonly type: 'warned'; readonly message: string };
