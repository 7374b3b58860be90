/** What the benchmarks share: a model with latency whose own time can be subtracted, medians, rates, verdicts. */

/** What the model says in the end. */
export const answer = 'Record abc-123 is deleted. It cannot be brought back, but nothing else was changed.';

/**
 * Says a sentence and asks for one tool call, then answers. Each call turns the event loop once, as a real model does.
 * @param latency of one call, in milliseconds
 */
export function latencyModel(latency = 2) {
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
    await new Promise((resolve) => setTimeout(resolve, latency));
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

/** Runs a second, so many of them at once. Each must end with the answer. */
export async function rate(run, { atOnce, runs }) {
  let left = runs;
  const lane = async () => {
    while (left-- > 0) {
      const text = await run();
      if (text !== answer) throw new Error(`Unexpected answer "${text}"`);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: atOnce }, lane));
  return runs / ((performance.now() - start) / 1000);
}

/** The word for a bound that was kept or not. One that was not makes the benchmark fail. */
export function verdict(isMet) {
  if (!isMet) process.exitCode = 1;
  return isMet ? 'met' : 'MISSED';
}

/** Prints both medians and their ratio beside the bound of the design. */
export function report(what, ours, base, bound, beside = 'by hand') {
  const ratio = ours / base;
  console.log(
    `${what}: ours ${ours.toFixed(3)} ms, ${beside} ${base.toFixed(3)} ms, ratio ${ratio.toFixed(2)} (at most ${bound}: ${verdict(ratio <= bound)})`,
  );
}
