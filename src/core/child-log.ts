/** A run below the root as a log of its own: what it commits, the root's log commits, so there is one order and one write. */
import { childIdOf, findRun, isWithin, pathTo } from './below.ts';
import type { Change } from './changes.ts';
import type { Listener, RunLog } from './log.ts';
import type { Run } from './state.ts';

/** @param above the log of the root, or of a run between. The run below must have begun. */
export function childLog(above: RunLog, runId: string): RunLog {
  const below = (root: Run): Run => runBelow(root, runId);
  const seenFromHere = (listener: Listener): Listener => ({
    ...listener,
    onChanges(changes) {
      const own = changesBelow(changes, runId);
      if (own.length > 0) listener.onChanges(own);
    },
    onPassing(passing, from) {
      if (isWithin(from, runId)) listener.onPassing(passing, from);
    },
  });
  return {
    ...above,
    runId,
    get run() {
      return below(above.run);
    },
    get stored() {
      return above.stored;
    },
    commit: (propose, options) => above.commit((run) => propose(below(run)), options),
    listen: (listener) => above.listen(seenFromHere(listener)),
    pass: (passing, from = runId) => above.pass(passing, from),
    record: (record) => {
      const toolCallId = childIdOf(runId, record.toolCallId).slice(above.runId.length + 1);
      const path = [...pathTo(above.run, runId), ...(record.path ?? [])];
      const { runId: root, agentId } = above.run.started;
      return above.record({ ...record, runId: root, agentId, toolCallId, path });
    },
  };
}

/** Of the changes of a log those that concern a run below, as seen from there. */
export function changesBelow(changes: readonly Change[], runId: string): Change[] {
  const concerns = ({ event }: Change): boolean =>
    isWithin(event.runId, runId) || (event.type === 'cancel-requested' && isWithin(runId, event.runId));
  return changes.filter(concerns).map(({ event, run }) => ({ event, run: runBelow(run, runId) }));
}

/** The end of the root is the end of all below it, also when it came elsewhere. */
function runBelow(root: Run, runId: string): Run {
  const run = findRun(root, runId) as Run;
  return root.outcome && !run.outcome ? { ...run, outcome: root.outcome } : run;
}
