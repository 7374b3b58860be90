/** What a page does: it asks with plain `fetch`, and reads events as they come. */

export interface Chunk {
  readonly type: string;
  readonly runId: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read payloads of every kind
  readonly payload: any;
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every kind
  readonly body: any;
}

export interface Events {
  readonly status: number;
  /** Of an answer that is no stream. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every kind
  readonly body?: any;
  /** Reads on up to the first chunk of this type. */
  until(type: string): Promise<Chunk>;
  /** Reads to the end; all chunks, also those that were read before. */
  all(): Promise<Chunk[]>;
}

export interface Browser {
  get(path: string): Promise<Answer>;
  post(path: string, body: object): Promise<Answer>;
  /** Resolves when the status is there. */
  open(path: string, body?: object): Promise<Events>;
}

/** @param token of whoever sits at the browser. */
export function browserAt(url: string, token: string): Browser {
  const send = (path: string, body?: object): Promise<Response> =>
    fetch(`${url}/api${path}`, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
  const answer = async (response: Response): Promise<Answer> => ({
    status: response.status,
    body: await response.json(),
  });
  return {
    get: async (path) => answer(await send(path)),
    post: async (path, body) => answer(await send(path, body)),
    async open(path, body) {
      const response = await send(path, body);
      return response.ok
        ? eventsOf(response)
        : { ...(await answer(response)), until: noStream, all: noStream };
    },
  };
}

async function noStream(): Promise<never> {
  throw new Error('The answer is no stream.');
}

function eventsOf(response: Response): Events {
  const read: Chunk[] = [];
  const coming = chunksOf(response);
  return {
    status: response.status,
    async until(type) {
      for (;;) {
        const { value, done } = await coming.next();
        if (done) throw new Error(`No ${type}: ${read.map((chunk) => chunk.type).join(', ')}`);
        read.push(value);
        if (value.type === type) return value;
      }
    },
    async all() {
      for await (const chunk of coming) read.push(chunk);
      return read;
    },
  };
}

/** @throws when the stream ends without `[DONE]`. */
async function* chunksOf({ body }: Response): AsyncGenerator<Chunk, void> {
  if (body === null) throw new Error('The answer has no body.');
  let text = '';
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const events = (text + part).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      if (event === 'data: [DONE]') return;
      yield JSON.parse(event.slice('data: '.length)) as Chunk;
    }
  }
  throw new Error('The stream ended early.');
}
