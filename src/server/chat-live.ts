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

export interface LiveAnswers {
  add(agentId: string, threadId: string, answer: LiveAnswer): void;
  /** The newest. */
  of(agentId: string, threadId: string): LiveAnswer | undefined;
}

export function liveAnswers(): LiveAnswers {
  const live = new Map<string, LiveAnswer>();
  const keyOf = (...ids: string[]): string => JSON.stringify(ids);
  return {
    add(agentId, threadId, answer) {
      const key = keyOf(agentId, threadId);
      live.set(key, answer);
      void answer.stream.consumeStream().then(() => {
        if (live.get(key) === answer) live.delete(key);
      });
    },
    of: (agentId, threadId) => live.get(keyOf(agentId, threadId)),
  };
}
