/** Server-sent events from the bytes of an answer, by the rules of the HTML standard. */

export interface SseEvent {
  /** The newest id that the stream has named so far. */
  readonly id?: string;
  readonly event: string;
  readonly data: string;
  /** Milliseconds that the stream last asked to wait before it is opened again. */
  readonly retry?: number;
}

type Bytes = ReadableStreamDefaultReader<Uint8Array>;

/** What reads the next bytes: a caller may give it a time limit. */
export type ReadBytes = (reader: Bytes) => ReturnType<Bytes['read']>;

/**
 * The events of a body, as they come. What is no whole event when the body ends is dropped. Whoever stops reading
 * closes the body.
 */
export async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  read: ReadBytes = (reader) => reader.read(),
): AsyncGenerator<SseEvent, void, undefined> {
  const reader = body.getReader();
  // Takes away a byte order mark, and keeps the bytes of a character that is not all there yet.
  const decoder = new TextDecoder();
  const push = sseParser();
  try {
    for (;;) {
      const { done, value } = await read(reader);
      if (done) return;
      yield* push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Nobody waits for it: a connection that is gone may never answer.
    reader.cancel().catch(() => {});
  }
}

/** Takes the text of a stream piece by piece; returns the events that each piece completes. */
export function sseParser(): (text: string) => SseEvent[] {
  let rest = '';
  let endedWithReturn = false;
  let id: string | undefined;
  let retry: number | undefined;
  let event = '';
  let data: string[] = [];

  const field = (line: string): void => {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) retry = Number(value);
  };
  const dispatched = (): SseEvent[] => {
    const whole = {
      ...(id === undefined ? {} : { id }),
      event: event || 'message',
      data: data.join('\n'),
      ...(retry === undefined ? {} : { retry }),
    };
    const isEmpty = data.length === 0;
    event = '';
    data = [];
    return isEmpty ? [] : [whole];
  };

  return (text) => {
    // A return at the very end was taken for a line end; the line feed that may follow belongs to it.
    const more = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') endedWithReturn = text.endsWith('\r');
    const lines = more.split(/\r\n|\r|\n/);
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    return lines.flatMap((line) => {
      if (line === '') return dispatched();
      field(line);
      return [];
    });
  };
}
