/** What happens to calls that wait, over all agents, as server-sent events from a place on. */
import type { FeedEvent, FeedPage } from '../core/feed.ts';
import { type Fields, id } from './field.ts';
import type { Identity } from './identity.ts';
import { logError } from './log.ts';
import type { ServerParts } from './parts.ts';
import type { EventSource } from './sse.ts';

export const eventsFields: Fields = {
  agentId: id,
  toolName: id,
  threadId: id,
  resourceId: id,
  lastEventId: id,
};

/** An identity is asked for when a feed is opened: this long it may be out of date, in milliseconds. */
const longestLife = 15 * 60 * 1000;

/**
 * Reads the first page before anything is answered, so that what is wrong with the request is told as an error.
 * @param lastEventId the id of the last event that the client has
 * @throws `forbidden` for the resource of somebody else, `invalid-option` for an id that is none.
 */
export async function approvalEvents(
  { access, feed, logger }: ServerParts,
  identity: Identity | undefined,
  { lastEventId, ...filter }: Readonly<Record<string, string>>,
): Promise<EventSource> {
  const scope = access.scopeOf(identity, filter.resourceId);
  const ending = new AbortController();
  // Who may see nothing is not told how much there is either: no run is of this resource, and no place is the feed's.
  const isBlind = scope === 'nothing';
  const asked = { ...filter, ...(isBlind ? { resourceId: '' } : scope) };
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(longestLife)]);
  const pages = feed.pages(asked, isBlind ? undefined : lastEventId, signal);
  const first = await pages.next();
  const isSeen = async (event: FeedEvent): Promise<boolean> =>
    !access.looksAtEach || (await access.mayRead(identity, event));
  const begin = first.done ? undefined : isBlind ? { ...first.value, cursor: '0' } : first.value;
  const texts = textsOf(begin, pages, isBlind || lastEventId === undefined, isSeen);
  return {
    async next() {
      const { value } = await texts.next().catch((error: unknown) => {
        // The client comes back with the id of what it had last.
        logError(logger, error, 'the feed of approvals ended');
        return { value: undefined };
      });
      if (value === undefined) ending.abort();
      return value ?? undefined;
    },
    cancel: () => ending.abort(),
  };
}

async function* textsOf(
  first: FeedPage | undefined,
  pages: AsyncGenerator<FeedPage, void>,
  isNew: boolean,
  isSeen: (event: FeedEvent) => Promise<boolean>,
): AsyncGenerator<string, void> {
  if (first === undefined) return;
  if (isNew) yield textOf(first.cursor, 'ready', {});
  yield* pageTexts(first, isSeen);
  for await (const page of pages) yield* pageTexts(page, isSeen);
}

async function* pageTexts(
  { events, isReset, cursor }: FeedPage,
  isSeen: (event: FeedEvent) => Promise<boolean>,
): AsyncGenerator<string, void> {
  if (isReset) yield textOf(cursor, 'reset', {});
  for (const event of events) {
    const { cursor: place, type, ...data } = event;
    if (await isSeen(event)) yield textOf(place, type, data);
  }
}

function textOf(place: string, type: string, data: object): string {
  return `id: ${place}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
