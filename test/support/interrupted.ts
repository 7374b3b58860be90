/** A call whose process dies while its tool runs: nobody knows whether it happened, so a person must say. */
import type { Agent, AgentConfig } from 'countersign';
import { storeAround } from 'countersign/testing';
import { type CrashStore, crashStore } from '../../src/testing/crash-store.ts';
import { type Kind, kinds, type Refund } from './kinds.ts';
import type { Choice, Scene } from './scene.ts';

/** The kinds whose tools run in a process of ours: what a client carries out is never interrupted. */
export const runningKinds: readonly Kind[] = kinds.filter(({ clientSide }) => !clientSide);

/** A list that tells when it grows. */
export function watched<Entry>(list: Entry[], onPush: () => void): Entry[] {
  const push = (...entries: Entry[]): number => {
    const length = list.push(...entries);
    onPush();
    return length;
  };
  return Object.assign([], { push });
}

/**
 * An agent in a process of its own. It dies when a test says so: from then on its store never answers it, and
 * `bury` takes its worker for dead without waiting for the end of its lease.
 */
export function mortalAgent(
  scene: Scene,
  toolsOf: (die: () => void) => AgentConfig['tools'],
  agentsOf?: (die: () => void) => AgentConfig['agents'],
): { agent: Agent; died: Promise<void>; bury(): Promise<void> } {
  const died = Promise.withResolvers<void>();
  /** The beats of each worker, answered or not. */
  const beats = new Map<string, Promise<void>>();
  let crash: CrashStore | undefined;
  const die = (): void => {
    crash?.die();
    died.resolve();
  };
  const agent = scene.another(
    { tools: toolsOf(die) ?? {}, ...(agentsOf ? { agents: agentsOf(die) } : {}) },
    (store) => {
      const beat = (worker: string): Promise<void> => {
        const beaten = store.workers.beat(worker);
        beats.set(worker, beaten);
        return beaten;
      };
      crash = crashStore(storeAround(store, { workers: { ...store.workers, beat } }));
      return crash;
    },
  );
  const bury = async (): Promise<void> => {
    if (beats.size === 0) throw new Error('It died before it ever lived.');
    for (const [worker, beaten] of beats) {
      // A beat that was under way when it died must not come after.
      await beaten;
      await scene.store.workers.retire(worker);
    }
  };
  return { agent, died: died.promise, bury };
}

/** Approves a call in a process that dies after the effect and before the result is stored. */
export async function interrupt(
  scene: Scene,
  kind: Kind,
  effects: Refund[],
  runId: string,
  choice: Choice = {},
): Promise<void> {
  const { agent, died, bury } = mortalAgent(scene, (die) => kind.tools(watched(effects, die), true));
  await agent.approveToolCall({ ...choice, runId });
  await died;
  await bury();
}
