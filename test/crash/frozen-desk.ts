/** Workers in one process, some of them slow: what they do is held by promises, and all clocks are the test's. */
import { onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { Agent } from '../../src/agent/agent.ts';
import { Countersign } from '../../src/agent/countersign.ts';
import { createTool } from '../../src/agent/create-tool.ts';
import type { ToolHooks } from '../../src/core/parts.ts';
import type { Store } from '../../src/core/store.ts';
import type { ToolContext } from '../../src/core/tool.ts';
import { InMemoryStore } from '../../src/store/memory.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import {
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  scriptedModel,
} from '../../src/testing/scripted-model.ts';

/** One database, and the time: of the database, of all machines, and of their monotonic clocks. */
export interface Ground {
  readonly store: InMemoryStore;
  readonly clock: FakeClock;
  /** Time passes in which nobody beats: all are frozen, or the database does not answer. */
  pass(milliseconds: number): void;
}

export function openGround(): Ground {
  const clock = fakeClock(1_000_000);
  let passed = 0;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => clock.now() + passed);
  onTestFinished(() => spy.mockRestore());
  return {
    clock,
    store: new InMemoryStore({ now: () => clock.now() + passed }),
    pass(milliseconds) {
      passed += milliseconds;
    },
  };
}

export interface Worker {
  readonly agent: Agent;
  readonly countersign: Countersign;
  readonly warnings: string[];
  /** Resolves when nothing that it began goes on, or a tool was entered so often that it would never end. */
  atRest(): Promise<void>;
}

/** A tool that is entered more often stands still. */
const maximalEntries = 10;

interface WorkerOptions {
  readonly script: Script;
  /** In place of one that follows the script. */
  readonly model?: ScriptedModel;
  /** What the tools do, by the `id` of their arguments. */
  readonly run: (id: string, context: ToolContext) => unknown;
  readonly store?: Store;
  readonly hooks?: ToolHooks;
}

/** `pay` is held, `free` is free, `ask` suspends itself, `look` is free and may be repeated. */
export function openWorker(ground: Ground, options: WorkerOptions): Worker {
  const warnings: string[] = [];
  const work = new Set<Promise<void>>();
  const runaway = Promise.withResolvers<void>();
  let entries = 0;
  const tool = (id: string, flags: object) =>
    createTool({
      id,
      inputSchema: z.object({ id: z.string() }),
      ...flags,
      execute: async (input, context) => {
        if (++entries > maximalEntries) {
          runaway.resolve();
          await new Promise(() => {});
        }
        return (await options.run(input.id, context as unknown as ToolContext)) as object;
      },
    });
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({ id: z.string() }),
    resumeSchema: z.object({ ok: z.boolean() }),
    execute: async (_input, { agent }) => (agent.resumeData ? { ok: true } : agent.suspend({})),
  });
  const agent = new Agent({
    id: 'desk',
    model: options.model ?? scriptedModel(options.script),
    hooks: options.hooks,
    tools: {
      pay: tool('pay', { requireApproval: true }),
      free: tool('free', {}),
      look: tool('look', { readOnly: true }),
      ask,
    },
  });
  const countersign = new Countersign({
    agents: { agent },
    storage: options.store ?? ground.store,
    clock: ground.clock,
    warn: (message) => warnings.push(message),
    waitUntil: (drive) => {
      work.add(drive);
      void drive.finally(() => work.delete(drive));
    },
  });
  return {
    agent,
    countersign,
    warnings,
    async atRest() {
      const rest = async (): Promise<void> => {
        while (work.size > 0) await Promise.all(work);
      };
      await Promise.race([rest(), runaway.promise]);
    },
  };
}

export interface Gate {
  readonly reached: Promise<void>;
  readonly opened: Promise<void>;
  reach(): Promise<void>;
  open(): void;
}

/** A place where something stands still until the test lets it go on. */
export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    opened: opened.promise,
    reach() {
      reached.resolve();
      return opened.promise;
    },
    open: () => opened.resolve(),
  };
}

/** A store of one worker: `before` and `after` are awaited around each append that holds an event of this type. */
export function watched(
  store: Store,
  eventType: string,
  { before, after }: { before?: () => unknown; after?: () => unknown },
): Store {
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key !== 'append' && key !== 'create' && key !== 'remove') {
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return async (...given: [{ events: readonly string[] }]) => {
        const isMeant = given[0].events.some((text) => text.includes(`"type":"${eventType}"`));
        if (isMeant) await before?.();
        const answer: unknown = await Reflect.apply(value as () => unknown, target, given);
        if (isMeant) await after?.();
        return answer;
      };
    },
  });
}

export const call = (toolName: string, id: string): ScriptedCall => ({
  toolName,
  args: { id },
  toolCallId: `${toolName}-${id}`,
});

/** A model that asks for these calls, tool and id, and then is done. */
export const asks =
  (...calls: [string, string][]): Script =>
  (prompt) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: calls.map(([toolName, id]) => call(toolName, id)) };
