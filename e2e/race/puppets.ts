/** Starts processes that do what a test says, and talks to them. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { DecisionOptions, ListStatus, RunOptions, Store, SuspendedRun } from '../../src/index.ts';
import type { ScriptStep } from '../../src/testing/scripted-model.ts';
import { postgresUrl } from '../../test/support/postgres-schema.ts';
import { type Effects, openEffects } from './effects.ts';
import { type Database, openPlace, type Place, temporaryFolder } from './places.ts';

export interface PuppetOptions {
  readonly place: Place;
  readonly effects: string;
}

/** What a user says in these tests: what the model is to answer. The name counts its calls. */
export interface Given {
  readonly name: string;
  readonly steps: readonly ScriptStep[];
  /** Anything more. */
  readonly padding?: string;
}

export type Command =
  | ({
      readonly do: 'ask';
      readonly given: Given;
      readonly tenant?: string;
      readonly stream?: boolean;
    } & Pick<RunOptions, 'instructions' | 'maxSteps' | 'memory'>)
  | {
      readonly do: 'decide';
      readonly verdict: 'approve' | 'decline' | 'resume';
      readonly options: Pick<DecisionOptions, 'runId' | 'toolCallId' | 'by' | 'decisionId' | 'reason'>;
      readonly data?: unknown;
      readonly stream?: boolean;
    }
  | { readonly do: 'list'; readonly status?: ListStatus }
  | { readonly do: 'sweep' }
  | { readonly do: 'stop' };

export interface Reply {
  readonly runId?: string;
  readonly text?: string;
  readonly finishReason?: string;
  readonly waiting?: readonly {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly args: unknown;
  }[];
  readonly results?: readonly { readonly toolCallId: string; readonly result: unknown }[];
  readonly chunks?: readonly string[];
  readonly runs?: readonly SuspendedRun[];
  readonly total?: number;
}

/** What a command came to: a reply, or an error with its code. */
export type Came = Reply & {
  readonly error?: { readonly code: string; readonly decision?: { readonly verdict: string } };
};

export interface Puppet {
  tell(command: Command): Promise<Came>;
  /** Called at once when a held call is announced. */
  onAnnounced(listener: (call: { runId: string; toolCallId: string }) => void): void;
  /** Lets it come to rest and exit. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface Stage {
  readonly place: Place;
  /** A handle of the test's own on the store. */
  readonly store: Store;
  readonly effects: Effects;
  puppet(): Puppet;
}

/** A new store, and processes on it. All is gone when the test is. */
export async function openStage({ create }: Database): Promise<Stage> {
  const { folder, remove } = temporaryFolder();
  const place = await create(folder, postgresUrl);
  const path = join(folder, 'effects.db');
  const effects = openEffects(path);
  const store = openPlace(place);
  const children = new Set<Puppet>();
  onTestFinished(async () => {
    for (const child of children) await child.kill();
    await store.close();
    effects.close();
    remove();
  });
  return {
    place,
    store,
    effects,
    puppet() {
      const child = startPuppet({ place, effects: path });
      children.add(child);
      return child;
    },
  };
}

function startPuppet(options: PuppetOptions): Puppet {
  const child: ChildProcess = fork(join(import.meta.dirname, 'puppet.ts'), [JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [],
  });
  const waiting = new Map<number, { resolve(came: Came): void; reject(error: Error): void }>();
  const listeners: ((call: { runId: string; toolCallId: string }) => void)[] = [];
  let commands = 0;
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  void gone.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('The process is gone.'));
  });
  child.on('message', (message: { id?: number; reply?: Reply; error?: Came['error']; announced?: never }) => {
    const { id, reply, error, announced } = message;
    if (announced) for (const tell of listeners) tell(announced);
    if (id === undefined) return;
    waiting.get(id)?.resolve(error ? { error } : (reply ?? {}));
    waiting.delete(id);
  });
  const tell = (command: Command): Promise<Came> =>
    new Promise((resolve, reject) => {
      const id = ++commands;
      waiting.set(id, { resolve, reject });
      child.send({ id, command }, (error) => error && reject(error));
    });
  return {
    tell,
    onAnnounced: (listener) => void listeners.push(listener),
    async stop() {
      await tell({ do: 'stop' });
      await gone;
    },
    async kill() {
      if (child.exitCode === null) child.kill('SIGKILL');
      await gone;
    },
  };
}
