/** A decision in a process that has not the agent's code: it is accepted, and driven where the code is. */
import { type Found, findCall } from '../core/below.ts';
import { decide, targetOf } from '../core/decide.ts';
import { CountersignError } from '../core/errors.ts';
import type { CallDecided, Door, Person } from '../core/event.ts';
import { checkRequest } from './check-request.ts';
import { decideEnded } from './ended-decision.ts';
import type { KeysOf } from './known-keys.ts';
import { acquireAny, orFromRecords } from './legs.ts';
import type { OpenTelemetry } from './opentelemetry.ts';
import { traceDecision } from './telemetry.ts';
import type { Worker } from './worker.ts';

/** Approve or decline: what needs none of the agent's code. */
export interface DecideOptions {
  readonly verdict: 'approve' | 'decline';
  readonly runId: string;
  readonly toolCallId: string;
  readonly stop?: number | undefined;
  readonly fingerprint?: string | undefined;
  readonly reason?: string | undefined;
  readonly decisionId?: string | undefined;
  readonly by?: Person | undefined;
  readonly via?: Door | undefined;
}

export interface AcceptedDecision {
  readonly accepted: true;
  readonly runId: string;
  readonly toolCallId: string;
  /** False: nobody here moves the run; a process with the agent's code will. */
  readonly driven: boolean;
}

const decideKeys = {
  verdict: true,
  runId: true,
  toolCallId: true,
  stop: true,
  fingerprint: true,
  reason: true,
  decisionId: true,
  by: true,
  via: true,
} as const satisfies KeysOf<DecideOptions>;

/** Without the code of its agent a call can only be approved or declined. @throws `invalid-decision`. */
export function checkVerdict(options: DecideOptions): void {
  checkRequest(options, decideKeys, 'decideToolCall');
  if (options.verdict === 'approve' || options.verdict === 'decline') return;
  throw new CountersignError('invalid-decision', 'The verdict is neither approve nor decline.', {
    runId: options.runId,
    toolCallId: options.toolCallId,
    expected: "'approve' or 'decline'; the agent itself resumes and resolves",
  });
}

/** Stores the decision and leaves the run runnable. @throws what `approveToolCall` throws. */
export async function decideWithoutAgent(
  worker: Worker,
  options: DecideOptions,
  telemetry: OpenTelemetry | undefined,
): Promise<AcceptedDecision> {
  const { runId, toolCallId } = options;
  const accepted: AcceptedDecision = { accepted: true, runId, toolCallId, driven: false };
  const again = () => acquireAny(worker, runId);
  const found = await again();
  if (found.kind === 'ended') {
    decideEnded(found, options);
    return accepted;
  }
  try {
    const { log } = found;
    const target = targetOf(log.run, options, 'refuse');
    const decideOpen = async (): Promise<AcceptedDecision> => {
      const began = worker.clock.now();
      let before: Found | undefined;
      let decided: CallDecided | undefined;
      await log.commit((run) => {
        before = findCall(run, target.toolCallId);
        decided = decide(run, options, target, worker.clock.now());
        return decided ? [decided] : [];
      });
      if (before && decided) traceDecision(telemetry, found.root.run.started, before, decided, began);
      return accepted;
    };
    return await orFromRecords(decideOpen, again, (ended) => {
      decideEnded(ended, { ...options, ...target });
      return accepted;
    });
  } finally {
    found.release();
  }
}
