/**
 * Owns what becomes of the claims of workers that died, and of claims that nobody performs. A dead worker costs
 * exactly its own claims: its model call is tried again, its repeatable calls too, and of every other call nobody
 * knows whether it happened, so a person must say.
 */
import { openRuns } from './below.ts';
import type { Claim, Event, RunError } from './event.ts';
import { type Call, lastStep, openCalls, type Run } from './state.ts';

/** After so many takeovers of one model call the run is stalled: whatever kills its workers would go on. */
const maximalTakeovers = 3;

/** The claims that are open. */
export function openClaims(root: Run): Claim[] {
  const claims = openRuns(root).flatMap((run) => [
    lastStep(run)?.claim,
    ...openCalls(run).map((call) => call.claim),
  ]);
  return claims.filter((claim) => claim !== undefined);
}

/**
 * The events by which claims are taken over.
 * @param dead the claims as they were when their workers were found dead: what the same worker claimed later is alive.
 */
export function takeOver(root: Run, dead: ReadonlySet<Claim>, at: number): Event[] {
  return openRuns(root).flatMap((run) => takeOverOne(run, dead, at));
}

function takeOverOne(run: Run, dead: ReadonlySet<Claim>, at: number): Event[] {
  const { runId } = run.started;
  const isDead = (claim: Claim | undefined): boolean => claim !== undefined && dead.has(claim);
  const step = lastStep(run);
  if (step && isDead(step.claim)) {
    const error: RunError = {
      code: 'taken-over',
      message: `The workers of its model call died ${step.takeovers + 1} times.`,
    };
    return [
      step.takeovers >= maximalTakeovers
        ? { type: 'step-failed', runId, at, step: step.index, error }
        : { type: 'step-released', runId, at, step: step.index, takenOver: true },
    ];
  }
  return openCalls(run)
    .filter((call) => isDead(call.claim))
    .map((call) => (call.request.repeatable ? released(call, at) : interrupted(call, at)));
}

/**
 * The events by which a worker gives back claims that it holds but does not perform. What has begun under one of them
 * is not given back: its result was lost, and a person must say what happened.
 */
export function giveBack(
  root: Run,
  isIdle: (claim: Claim) => boolean,
  hasBegun: (runId: string, toolCallId: string, attempt: number) => boolean,
  at: number,
): Event[] {
  return openRuns(root).flatMap((run) => {
    const { runId } = run.started;
    const step = lastStep(run);
    if (step?.claim && isIdle(step.claim)) return [{ type: 'step-released', runId, at, step: step.index }];
    return openCalls(run)
      .filter((call) => call.claim && isIdle(call.claim))
      .map((call) => {
        const isLost = hasBegun(runId, call.toolCallId, call.attempts) && !call.request.repeatable;
        return isLost ? interrupted(call, at) : released(call, at);
      });
  });
}

/** The events by which a run of which nothing can go on here, nor below it, gives back claims and waits for a person. */
export function stalling(run: Run, isOurs: (claim: Claim) => boolean, error: RunError, at: number): Event[] {
  const step = lastStep(run);
  if (run.outcome || step === undefined || (step.claim && !isOurs(step.claim))) return [];
  const released = giveBack(run, isOurs, () => false, at);
  if (step.state === 'stalled') return released;
  return [...released, { type: 'step-failed', runId: run.started.runId, at, step: step.index, error }];
}

function released({ toolCallId, request }: Call, at: number): Event {
  return { type: 'call-released', runId: request.runId, at, toolCallId };
}

function interrupted({ toolCallId, request, since }: Call, at: number): Event {
  return { type: 'call-interrupted', runId: request.runId, at, toolCallId, startedAt: since };
}
