/** K8 over two real processes: a child pauses and exits, this one lists and decides. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { resultsIn } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { temporaryFile } from '../support/stages.ts';
import { readStream, type Told, toldByOutput } from '../support/told.ts';
import { openProcess } from '../support/two-processes.ts';

const childFile = fileURLToPath(new URL('../support/two-processes.ts', import.meta.url));
const run = promisify(execFile);

async function pausedByChild() {
  const database = temporaryFile();
  const effectsFile = `${database}.effects`;
  const { stdout } = await run(process.execPath, [childFile, database, effectsFile]);
  const child = JSON.parse(stdout) as {
    runId: string;
    finishReason: string;
    pid: number;
    suspendPayloads: object[];
  };
  const here = openProcess(database, effectsFile);
  onTestFinished(() => here.store.close());
  const effects = (): Record<string, unknown>[] =>
    existsSync(effectsFile)
      ? readFileSync(effectsFile, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : [];
  return { child, effects, ...here };
}

const context = { tenant: { id: 'acme' }, threadId: 'thread 1', resourceId: 'user 1' };

for (const face of ['stream', 'generate'] as const) {
  for (const verdict of ['approve', 'decline'] as const) {
    test(`scenario: K8 two processes: a child pauses and exits, ${verdict} and resume here, by ${face}`, async () => {
      const { child, agent, model, effects } = await pausedByChild();
      const { runId } = child;
      expect(child.finishReason).toBe('suspended');
      expect(child.pid).not.toBe(process.pid);
      expect(
        effects()
          .map(({ tool, pid }) => [tool, pid])
          .toSorted(),
      ).toEqual([
        ['ask', child.pid],
        ['look', child.pid],
      ]);

      const { runs } = await agent.listSuspendedRuns({ threadId: 'thread 1' });
      expect(runs).toHaveLength(1);
      expect(runs[0]).toMatchObject({ runId, status: 'suspended', resourceId: 'user 1' });
      const [held, suspended] = runs[0]!.toolCalls;
      expect(held).toMatchObject({
        toolCallId: 'refund-1',
        args: { order: 'o-1', amount: 12.5 },
        state: 'held',
      });
      expect(suspended).toMatchObject({
        toolCallId: 'ask-1',
        args: { topic: 'tea' },
        state: 'suspended',
        suspendPayload: { question: 'About tea?' },
      });
      const announced = child.suspendPayloads as { fingerprint: string }[];
      expect(announced.map(({ fingerprint }) => fingerprint)).toEqual([
        held?.fingerprint,
        suspended?.fingerprint,
      ]);

      const { toolCallId, stop, fingerprint } = held!;
      const choice = { runId, toolCallId, stop, fingerprint };
      const decided: Told =
        face === 'stream'
          ? await readStream(await agent[`${verdict}ToolCall`](choice))
          : toldByOutput(await agent[`${verdict}ToolCallGenerate`](choice));
      expect(decided.finishReason).toBe('suspended');
      expect(model.calls).toHaveLength(0);
      expect(await codeOf(agent.resumeStream({ answer: 5 }, { runId }))).toBe('invalid-resume-data');
      const resumed: Told =
        face === 'stream'
          ? await readStream(await agent.resumeStream({ answer: 'green' }, { runId }))
          : toldByOutput(await agent.resumeGenerate({ answer: 'green' }, { runId }));
      expect(resumed.text).toBe('Done.');
      expect(resumed.totalText).toBe('Working. Done.');

      const here = effects().filter(({ pid }) => pid === process.pid);
      expect(here).toEqual([
        ...(verdict === 'approve'
          ? [{ tool: 'refund', pid: process.pid, input: { order: 'o-1', amount: 12.5 }, ...context }]
          : []),
        {
          tool: 'ask',
          pid: process.pid,
          input: { topic: 'tea' },
          resumeData: { answer: 'green' },
          ...context,
        },
      ]);
      expect(effects()).toHaveLength(2 + here.length);

      const [call] = model.calls;
      expect(call?.temperature).toBe(0.5);
      expect(JSON.stringify(call?.prompt)).toContain('Instructions of the run.');
      const results = resultsIn(call?.prompt);
      expect(Object.keys(results)).toEqual(['refund-1', 'look-1', 'ask-1']);
      expect(results['look-1']?.value).toEqual({ seen: child.pid });
      expect(results['refund-1']?.type).toBe(verdict === 'approve' ? 'json' : 'execution-denied');
      expect((await agent.listSuspendedRuns({ status: 'all' })).total).toBe(0);
      expect(await codeOf(agent.approveToolCall(choice))).toBe('already-decided');
    });
  }
}
