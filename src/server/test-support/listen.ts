/** Reads server-sent events one by one, each when the test asks for it. */

export interface Told {
  readonly id?: string;
  readonly event?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read data of every kind
  readonly data?: any;
}

export interface Listener {
  /** The next event or comment (an empty one); undefined at the end. */
  next(): Promise<Told | undefined>;
  /** The next so many, as `event toolName`. */
  words(count: number): Promise<string[]>;
  leave(): Promise<void>;
}

export function listenTo(response: Response): Listener {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';

  async function next(): Promise<Told | undefined> {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end !== -1) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        return toldIn(block);
      }
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return undefined;
      text += chunk.value;
    }
  }

  return {
    next,
    async words(count) {
      const words: string[] = [];
      while (words.length < count) {
        const told = await next();
        words.push(`${told?.event} ${told?.data?.toolName}`);
      }
      return words;
    },
    leave: async () => reader?.cancel(),
  };
}

function toldIn(block: string): Told {
  const fields = block
    .split('\n')
    .filter((line) => !line.startsWith(':'))
    .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)] as const)
    .map(([name, value]) => [name, name === 'data' ? JSON.parse(value) : value]);
  return Object.fromEntries(fields);
}
