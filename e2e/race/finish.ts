/** The last process of a race: takes over what the others left, resolves what is interrupted, and ends every run. */
import type { Agent, Countersign, SuspendedRun } from '../../src/index.ts';
import type { Effects } from './effects.ts';
import type { Ending, Target } from './messages.ts';
import type { Random } from './random.ts';

/** @throws when runs are still open after a minute without progress. */
export async function finish(
  { agent, countersign }: { agent: Agent; countersign: Countersign },
  effects: Effects,
  runIds: readonly string[],
  random: Random,
): Promise<Ending> {
  const resolved = { output: 0, error: 0, runAgain: 0 };
  let continued = 0;
  let undecided: Target[] = [];
  const unlisted = await unlistedOf(agent, countersign, runIds);

  /** The person who looks at the world to say what happened. */
  const resolve = async (runId: string, toolCallId: string): Promise<void> => {
    const by = { id: 'the last one' };
    const call = { runId, toolCallId, by };
    if (effects.of(runId, toolCallId) > 0) {
      resolved.output++;
      await agent.resolveInterruptedCallGenerate({ ...call, output: { refunded: toolCallId } });
    } else if (random.below(2) === 0) {
      resolved.runAgain++;
      await agent.resolveInterruptedCallGenerate({ ...call, runAgain: true });
    } else {
      resolved.error++;
      await agent.resolveInterruptedCallGenerate({ ...call, error: 'It did not happen.' });
    }
  };

  countersign.start();
  let patience = Date.now() + 60_000;
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    const runs = await openRuns(agent);
    undecided = [];
    for (const { runId, status, toolCalls } of runs) {
      for (const { toolCallId, state } of toolCalls) {
        if (state === 'interrupted') await resolve(runId, toolCallId);
        else undecided.push({ runId, toolCallId });
      }
      if (status === 'stalled') {
        continued++;
        await agent.continueRunGenerate({ runId });
      }
    }
    const open = runs.length;
    if (open === 0 || open === new Set(undecided.map(({ runId }) => runId)).size) break;
    if (open < last) patience = Date.now() + 60_000;
    else if (Date.now() > patience) throw new Error(`${open} runs do not end, such as ${runs[0]?.runId}`);
    last = open;
    // What dead processes hold is theirs until the database's clock says otherwise.
    await new Promise((next) => setTimeout(next, 50));
  }
  return { unlisted, undecided, resolved, continued };
}

async function openRuns(agent: Agent): Promise<SuspendedRun[]> {
  const found: SuspendedRun[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await agent.listSuspendedRuns({ status: 'all', perPage: 1000, cursor });
    found.push(...page.runs);
    cursor = page.cursor;
    if (cursor === undefined) return found;
  }
}

async function unlistedOf(
  agent: Agent,
  { storage }: Countersign,
  runIds: readonly string[],
): Promise<string[]> {
  const listed = new Set((await openRuns(agent)).map(({ runId }) => runId));
  const unlisted: string[] = [];
  for (const runId of runIds) {
    if (listed.has(runId)) continue;
    if ((await storage.load(runId, Number.MAX_SAFE_INTEGER))?.kind !== 'ended') unlisted.push(runId);
  }
  return unlisted;
}
