/**
 * Owns the ids of the calls in a response: unique in the whole prompt. An id that is empty, was used before, contains
 * `~` (which joins qualified ids), `::` (which joins the ids of approvals on a page: what a model made up could name
 * another call there) or what databases refuse (too long a text, too) is replaced, from the first delta on.
 */
import type { JsonObject } from './json.ts';
import type { Message } from './message.ts';
import type { Run } from './state.ts';

export interface CallIds {
  /** A call's first delta. */
  begin(id: string): string;
  /** A later delta of the call that was begun last under this id. */
  current(id: string): string;
  /** The calls of the finished response, in order: the n-th use of an id is the n-th that was begun. */
  take(id: string): string;
  /** A result that the provider gave, for a call of this response or of an earlier one. */
  ofResult(id: string): string;
}

export function callIds(run: Run, history: readonly Message[] = []): CallIds {
  const messages = [...history, ...run.started.messages];
  const taken = new Set([...run.calls.keys(), ...messages.flatMap(idsInMessage), ...idsOfProvider(run)]);
  const issued = new Map<string, string[]>();
  const used = new Map<string, number>();
  const begin = (id: string): string => {
    const unique = isKeepable(id) && !taken.has(id) ? id : newId();
    taken.add(unique);
    issued.set(id, [...(issued.get(id) ?? []), unique]);
    return unique;
  };
  return {
    begin,
    current: (id) => issued.get(id)?.at(-1) ?? begin(id),
    take(id) {
      const count = used.get(id) ?? 0;
      used.set(id, count + 1);
      return issued.get(id)?.[count] ?? begin(id);
    },
    ofResult: (id) => issued.get(id)?.at(-1) ?? id,
  };
}

/** Stores and qualified ids must be able to hold it. */
function isKeepable(id: string): boolean {
  return id !== '' && id.length <= 300 && id.isWellFormed() && !/[~\0]|::|:$/.test(id);
}

/** At most 40 characters: some providers take no more. */
function newId(): string {
  return `call_${crypto.randomUUID().replaceAll('-', '')}`;
}

function idsInMessage({ role, content }: Message): string[] {
  return role !== 'assistant' || typeof content === 'string' ? [] : content.flatMap(idOfCall);
}

function idOfCall(part: JsonObject): string[] {
  return part.type === 'tool-call' && typeof part.toolCallId === 'string' ? [part.toolCallId] : [];
}

function idsOfProvider(run: Run): string[] {
  return run.steps.flatMap((step) =>
    (step.response?.content ?? []).flatMap((part) =>
      part.type === 'provider-call' ? [part.toolCallId] : [],
    ),
  );
}
