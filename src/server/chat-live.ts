/**
 * Owns which answers this process is writing: a page that comes back is told them from the beginning, word by word.
 * What other processes write it is told from the store, step by step.
 */
import type { UiPart } from '../conversation/ui-parts.ts';
import type { AgentStream } from '../stream/output.ts';

export interface LiveAnswer {
  readonly stream: AgentStream;
  /** What the message said before the leg. */
  readonly before: readonly UiPart[];
  /** The id of the user's message that it answers, where the leg began with one. */
  readonly saidId?: string | undefined;
}

/** Where an answer is said. A thread can be deleted, and made anew by somebody else. */
export interface LivePlace {
  readonly agentId: string;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
}

export interface LiveAnswers {
  add(place: LivePlace, answer: LiveAnswer): void;
  /** The newest. */
  of(place: LivePlace): LiveAnswer | undefined;
  /** Does one thing after the other where they are about the same. */
  inOrder<T>(ids: readonly (string | undefined)[], work: () => Promise<T>): Promise<T>;
}

export function liveAnswers(): LiveAnswers {
  const live = new Map<string, LiveAnswer>();
  const underWay = new Map<string, Promise<unknown>>();
  const keyOf = (...ids: readonly (string | undefined)[]): string => JSON.stringify(ids);
  const placeOf = ({ agentId, threadId, resourceId }: LivePlace): string =>
    keyOf(agentId, threadId, resourceId);
  return {
    add(place, answer) {
      const key = placeOf(place);
      live.set(key, answer);
      void answer.stream.consumeStream().then(() => {
        if (live.get(key) === answer) live.delete(key);
      });
    },
    of: (place) => live.get(placeOf(place)),
    inOrder(ids, work) {
      const key = keyOf(...ids);
      const done = (underWay.get(key) ?? Promise.resolve()).then(work, work);
      underWay.set(key, done);
      const leave = (): void => {
        if (underWay.get(key) === done) underWay.delete(key);
      };
      void done.then(leave, leave);
      return done;
    },
  };
}
