/** The attacked process, as the one who attacks it sees it; and what only its operator sees. */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Effect, openEffects } from '../race/effects.ts';
import { type RawAnswer, raw } from './raw.ts';
import { type Question, type Told, tokenOf, type VictimOptions, type Who } from './world.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** What the text is, where it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every kind
  readonly body: any;
}

/** A call that waits. */
export interface Waiting {
  readonly agentId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly stop: number;
  readonly fingerprint: string;
  readonly threadId: string;
}

export interface Victim {
  readonly port: number;
  ask(who: Who | undefined, method: string, path: string, body?: unknown): Promise<Answer>;
  /** Sends these bytes, on a connection of their own. */
  raw(bytes: string | Buffer): Promise<RawAnswer>;
  /** Begins a run that waits. */
  hold(who: Who, words: string, agentId?: string): Promise<Waiting>;
  /** What was done. */
  effects(runId?: string): string[];
  operator<Answer = unknown>(question: Question): Promise<Answer>;
  /** All that the process wrote. */
  log(): string;
  /** That it lives, answers, and is as it was. */
  health(): Promise<void>;
  stop(): Promise<void>;
}

export async function startVictim(
  options: Omit<VictimOptions, 'database' | 'effects'> = {},
): Promise<Victim> {
  const folder = mkdtempSync(join(tmpdir(), 'attacked-'));
  const all: VictimOptions = {
    ...options,
    database: join(folder, 'runs.db'),
    effects: join(folder, 'effects.db'),
  };
  const effects = openEffects(all.effects);
  const child = fork(join(import.meta.dirname, 'process.ts'), [JSON.stringify(all)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Not those of the test runner.
    execArgv: ['--expose-gc'],
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  const answers = new Map<number, PromiseWithResolvers<unknown>>();
  child.once('exit', () => {
    for (const { reject } of answers.values()) reject(new Error(`It is gone: ${log}`));
  });
  const port = await new Promise<number>((resolve, refuse) => {
    child.once('exit', (code) => refuse(new Error(`It ended with ${code}: ${log}`)));
    child.on('message', (message: Told) => {
      if (message.told === 'ready') resolve(message.port);
      else answers.get(message.number)?.resolve(message.answer);
    });
  });
  const url = `http://127.0.0.1:${port}`;
  let asked = 0;
  const operator = async <T>(question: Question): Promise<T> => {
    const number = ++asked;
    const answer = Promise.withResolvers<unknown>();
    answers.set(number, answer);
    child.send({ ...question, number });
    try {
      return (await answer.promise) as T;
    } finally {
      answers.delete(number);
    }
  };
  const ask: Victim['ask'] = async (who, method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(who ? { authorization: `Bearer ${tokenOf(who)}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: asJson(text) };
  };
  return {
    port,
    ask,
    raw: (bytes) => raw(port, bytes),
    async hold(who, words, agentId = 'chat') {
      const threadId = `thread-${crypto.randomUUID()}`;
      const path = `/api/agents/${agentId}/generate`;
      const { body, text } = await ask(who, 'POST', path, { messages: words, memory: { thread: threadId } });
      const stop = body?.suspendPayload;
      if (!stop) throw new Error(`Nothing waits: ${text}`);
      const listed = await ask('rita', 'GET', `/api/approvals?threadId=${threadId}`);
      const { runId, toolCallId, fingerprint, stop: number } = listed.body.approvals[0];
      return { agentId, runId, toolCallId, fingerprint, stop: number, threadId };
    },
    effects: (runId) =>
      effects
        .all()
        .filter((effect: Effect) => runId === undefined || effect.runId === runId)
        .map(({ args }) => args),
    operator,
    log: () => log,
    async health() {
      const healthy = await Promise.all(['/healthz', '/readyz'].map((path) => fetch(`${url}${path}`)));
      const polluted = await operator<string[]>({ ask: 'polluted' });
      const bad = healthy.filter(({ status }) => status !== 200);
      if (bad.length > 0 || polluted.length > 0 || child.exitCode !== null) {
        throw new Error(`It is not well: ${bad.map(({ status }) => status)} ${polluted} ${log}`);
      }
    },
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      await operator({ ask: 'stop' });
      await gone;
      effects.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
