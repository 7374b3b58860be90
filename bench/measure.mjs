/** What the benchmarks share: a model with latency whose own time can be subtracted, medians, one line of report. */

/** What the model says in the end. */
export const answer = 'Record abc-123 is deleted. It cannot be brought back, but nothing else was changed.';

/** Says a sentence and asks for one tool call, then answers. Each call turns the event loop once, as a real model does. */
export function latencyModel() {
  let spent = 0;
  const usage = {
    inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 5, text: undefined, reasoning: undefined },
  };
  const finish = (unified) => ({ type: 'finish', finishReason: { unified, raw: unified }, usage });
  /** A sentence in as many deltas as it has words, as providers stream it. */
  const textParts = (text) => [
    { type: 'text-start', id: '1' },
    ...text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', id: '1', delta })),
    { type: 'text-end', id: '1' },
  ];
  const callParts = (toolCallId) => [
    { type: 'tool-input-start', id: toolCallId, toolName: 'delete-record' },
    ...['{"id"', ':"abc', '-123', '"}'].map((delta) => ({ type: 'tool-input-delta', id: toolCallId, delta })),
    { type: 'tool-input-end', id: toolCallId },
    { type: 'tool-call', toolCallId, toolName: 'delete-record', input: '{"id":"abc-123"}' },
  ];
  const partsFor = (prompt) =>
    prompt.at(-1).role === 'tool'
      ? [...textParts(answer), finish('stop')]
      : [
          ...textParts('I will delete that record for you now.'),
          ...callParts(crypto.randomUUID()),
          finish('tool-calls'),
        ];
  const wait = async () => {
    const start = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 2));
    spent += performance.now() - start;
  };
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    async doStream({ prompt }) {
      await wait();
      const parts = [{ type: 'stream-start', warnings: [] }, ...partsFor(prompt)];
      return {
        stream: new ReadableStream({
          pull(controller) {
            const part = parts.shift();
            if (part) controller.enqueue(part);
            else controller.close();
          },
        }),
      };
    },
    async doGenerate({ prompt }) {
      await wait();
      const parts = partsFor(prompt);
      const { finishReason } = parts.at(-1);
      const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
      const content = [{ type: 'text', text }, ...parts.filter((part) => part.type === 'tool-call')];
      return { content, finishReason, usage, warnings: [] };
    },
    reset() {
      spent = 0;
    },
    /** Milliseconds that the model took since `reset`. */
    time: () => spent,
  };
}

export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Prints both medians and their ratio beside the bound of the design. */
export function report(what, ours, base, bound) {
  const ratio = ours / base;
  const verdict = ratio <= bound ? 'met' : 'MISSED';
  console.log(
    `${what}: ours ${ours.toFixed(3)} ms, by hand ${base.toFixed(3)} ms, ratio ${ratio.toFixed(2)} (at most ${bound}: ${verdict})`,
  );
  if (ratio > bound) process.exitCode = 1;
}
