/**
 * A process with a registry, told by messages what to do. It freezes itself by SIGSTOP at the place that it is told,
 * right after it has said so, and goes on when it gets SIGCONT.
 */
import { setTimeout as passed } from 'node:timers/promises';
import { z } from 'zod';
import { Agent } from '../../src/agent/agent.ts';
import { Countersign } from '../../src/agent/countersign.ts';
import { createTool } from '../../src/agent/create-tool.ts';
import type { ResolveOptions } from '../../src/agent/options.ts';
import { systemClock } from '../../src/agent/worker.ts';
import type { Clock } from '../../src/core/log.ts';
import type { Store } from '../../src/core/store.ts';
import type { LanguageModelV4, StreamPartV4 } from '../../src/models/ai-sdk-types.ts';
import { type ScriptedCall, scriptedModel } from '../../src/testing/scripted-model.ts';
import { fileJournal } from '../crash/file-journal.ts';
import { heartbeat } from '../crash/process-world.ts';
import { openPlace, type Place } from '../race/places.ts';

/** Where it freezes. */
export type FreezePlace =
  | 'after claim'
  | 'in execute'
  | 'in model call, silent'
  | 'in model call, after a word';

export interface SleeperOptions {
  readonly place: Place;
  readonly journal: string;
  readonly freeze?: FreezePlace | undefined;
  /** By how much its clock, and its Date, are off. */
  readonly clockOffset?: number | undefined;
}

/** What it is asked for. Each is answered by one message of the same name. */
export type Ask =
  | { readonly ask: 'start'; readonly runId: string }
  | { readonly ask: 'approve'; readonly runId: string }
  | { readonly ask: 'sweep' }
  | { readonly ask: 'list' }
  | { readonly ask: 'resolve'; readonly runId: string; readonly toolCallId: string; readonly word: object };

export type Told =
  | { readonly told: 'freezing' }
  | { readonly told: 'warned'; readonly message: string }
  | { readonly told: Ask['ask']; readonly answer: unknown; readonly error?: string };

const options = JSON.parse(process.argv[2] ?? '') as SleeperOptions;
const offset = options.clockOffset ?? 0;
const realNow = Date.now;
if (offset !== 0) Date.now = () => realNow() + offset;
const clock: Clock = { ...systemClock, now: () => realNow() + offset };

const tell = (message: Told): Promise<void> =>
  new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));

let isAwake = options.freeze !== undefined;

/** Stands still, once, until somebody sends SIGCONT. */
async function freezeAt(place: FreezePlace): Promise<void> {
  if (place !== options.freeze || !isAwake) return;
  isAwake = false;
  await tell({ told: 'freezing' });
  process.kill(process.pid, 'SIGSTOP');
}

const journal = fileJournal(options.journal);
const store = openPlace(options.place);
/** The answer to a claim reaches the process after its freeze. */
const frozenStore: Store = new Proxy(store, {
  get(target, key) {
    const value: unknown = Reflect.get(target, key);
    if (key !== 'append') return typeof value === 'function' ? value.bind(target) : value;
    return async (batch: Parameters<Store['append']>[0]) => {
      const answer = await target.append(batch);
      if (batch.events.some((text) => text.includes('"type":"call-started"'))) await freezeAt('after claim');
      return answer;
    };
  },
});

/** A tool that is entered more often is entered without end. */
const maximalEntries = 10;
let entries = 0;

const pay = createTool({
  id: 'pay',
  inputSchema: z.object({ id: z.string() }),
  requireApproval: true,
  execute: async (_input, { runId, toolCallId, idempotencyKey: key }) => {
    if (++entries > maximalEntries) process.exit(1);
    journal.effect({ runId, toolCallId, toolName: 'pay', key }, () => {});
    await freezeAt('in execute');
    return { by: 'tool', process: process.pid };
  },
});

const call: ScriptedCall = { toolName: 'pay', args: { id: 'a' }, toolCallId: 'pay-a' };
const scripted = scriptedModel((prompt) => (prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [call] }));

/** Freezes before its answer to a tool's result, or after the first word of it. */
const model: LanguageModelV4 = {
  ...scripted,
  async doStream(request) {
    const { stream } = await scripted.doStream(request);
    if (request.prompt.at(-1)?.role !== 'tool') return { stream };
    await freezeAt('in model call, silent');
    const frozen = new TransformStream<StreamPartV4, StreamPartV4>({
      async transform(part, controller) {
        controller.enqueue(part);
        if (part.type !== 'text-delta') return;
        // The word is passed on in turns that come before this one's end.
        await new Promise((resolve) => setImmediate(resolve));
        await freezeAt('in model call, after a word');
      },
    });
    return { stream: stream.pipeThrough(frozen) };
  },
};

const work = new Set<Promise<void>>();
const agent = new Agent({ id: 'desk', model, tools: { pay } });
const countersign = new Countersign({
  agents: { agent },
  storage: frozenStore,
  heartbeat,
  clock,
  warn: (message) => void tell({ told: 'warned', message }),
  waitUntil: (drive) => {
    work.add(drive);
    void drive.finally(() => work.delete(drive));
  },
});

async function answerTo(ask: Ask): Promise<unknown> {
  switch (ask.ask) {
    case 'start': {
      const { finishReason, text } = await agent.generate('Go', { runId: ask.runId });
      return { finishReason, text };
    }
    case 'approve': {
      const leg = await agent.approveToolCall({ runId: ask.runId });
      const texts: string[] = [];
      for await (const chunk of leg.fullStream)
        if (chunk.type === 'text-delta') texts.push(chunk.payload.text);
      // Its drive may outlast its leg.
      while (work.size > 0) await Promise.all(work);
      return { finishReason: await leg.finishReason, text: texts.join(''), error: (await leg.error)?.code };
    }
    case 'sweep':
      await countersign.sweep();
      while (work.size > 0) await Promise.all(work);
      return undefined;
    case 'list':
      return (await agent.listSuspendedRuns({ status: 'all' })).runs;
    case 'resolve': {
      const { runId, toolCallId, word } = ask;
      const { text } = await agent.resolveInterruptedCallGenerate({
        runId,
        toolCallId,
        ...word,
      } as ResolveOptions);
      return { text };
    }
  }
}

process.on('message', (ask: Ask) => {
  void answerTo(ask).then(
    (answer) => tell({ told: ask.ask, answer }),
    (error: Error & { code?: string }) =>
      tell({ told: ask.ask, answer: undefined, error: error.code ?? error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
// Nothing else keeps a process alive that waits for messages under a frozen parent.
void passed(120_000, undefined, { ref: false }).then(() => process.exit(1));
