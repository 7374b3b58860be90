import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { SQLiteStore } from './sqlite.ts';

const directory = mkdtempSync(join(tmpdir(), 'countersign-race-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Won {
  readonly created: string[];
  readonly appended: string[];
  readonly removed: string[];
}

/** A process that has opened the store and waits for the start. */
async function racer(path: string, writer: string): Promise<() => Promise<Won>> {
  const script = fileURLToPath(new URL('fixtures/race.ts', import.meta.url));
  const child = spawn(process.execPath, [script, path, writer], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  return async () => {
    child.stdin.write('go\n');
    const { value } = await lines.next();
    expect(await exited).toEqual([0, null]);
    return JSON.parse(value ?? 'null') as Won;
  };
}

test('processes that open one new file at once, and race for every write, have one winner each', async () => {
  const path = join(directory, 'runs.db');
  const racers = await Promise.all(['one', 'two', 'three'].map((writer) => racer(path, writer)));
  const won = await Promise.all(racers.map((race) => race()));

  const runs = Array.from({ length: 200 }, (_, index) => `run ${index}`);
  const sorted = (of: keyof Won): string[] => won.flatMap((one) => one[of]).sort();
  expect(sorted('created')).toEqual([...runs].sort());
  expect(sorted('appended')).toEqual([...runs].sort());
  expect(sorted('removed')).toEqual(runs.filter((_, index) => index % 2 === 1).sort());

  const store = new SQLiteStore({ path });
  const winner = (runId: string, of: keyof Won): string =>
    ['one', 'two', 'three'].find((_, index) => won[index]?.[of].includes(runId)) ?? 'nobody';
  for (const [index, runId] of runs.entries()) {
    const loaded = await store.load(runId, 0);
    if (index % 2 === 1) {
      expect(loaded).toMatchObject({ kind: 'ended', outcome: { text: winner(runId, 'removed') } });
    } else {
      const events = [winner(runId, 'created'), winner(runId, 'appended')].map((writer) =>
        JSON.stringify(writer),
      );
      expect(loaded).toEqual({ kind: 'open', version: 2, events });
    }
  }
  await store.close();
}, 60_000);
