/** Decides one call: approve, decline, resume. */
import {
  checkRequest,
  type DecisionRequest,
  decide,
  decideEnded,
  type Target,
  targetOf,
  verdictIn,
} from '../core/decide.ts';
import { CountersignError, isCountersignError } from '../core/errors.ts';
import type { CallDecided, Decision } from '../core/event.ts';
import { toJson } from '../core/json.ts';
import type { RunLog } from '../core/log.ts';
import type { Parts } from '../core/parts.ts';
import { validate } from '../core/schema.ts';
import { lastStep, type Run } from '../core/state.ts';
import type { EndedRun } from '../core/store.ts';
import { endedLeg } from '../stream/ended.ts';
import type { Leg } from '../stream/leg.ts';
import { continued } from './continuation.ts';
import { checkKeys } from './known-keys.ts';
import { acquire, callbacksOf, runLeg, withLease } from './legs.ts';
import { type DecisionOptions, optionKeys, type ResolveOptions } from './options.ts';
import { type LegParts, partsOf } from './prepare.ts';
import type { AgentCore } from './types.ts';
import type { Lease } from './worker.ts';

/** Approve, decline, resume. Resolves when the decision is stored; the leg then carries what follows. */
export async function decideCall(
  agent: AgentCore,
  options: DecisionOptions,
  word: Pick<DecisionRequest, 'verdict' | 'data' | 'resolution'>,
): Promise<Leg> {
  checkRequest(options);
  checkKeys(options, word.verdict === 'resolve' ? optionKeys.resolve : optionKeys.decision, 'a decision');
  const given: DecisionRequest = { ...requestOf(options), ...word };
  const { worker } = agent.binding();
  const lease = await acquire(agent, worker, options.runId);
  if (lease.kind === 'ended') return legOfRecord(agent, lease, options, given);
  const target = chosen(lease, given, agent);
  try {
    return await decideOpen(agent, lease, options, given, target);
  } catch (error) {
    if (!isCountersignError(error, 'run-ended')) throw error;
    // Others ended the run meanwhile: what they left is the answer, for the stop that was meant.
    const ended = await acquire(agent, worker, options.runId);
    if (ended.kind === 'ended') return legOfRecord(agent, ended, options, { ...given, ...target });
    ended.release();
    throw error;
  }
}

function chosen(lease: Lease, given: DecisionRequest, agent: AgentCore): Target {
  try {
    return targetOf(lease.log.run, given, agent.whenSeveralWait());
  } catch (error) {
    lease.release();
    throw error;
  }
}

function legOfRecord(
  agent: AgentCore,
  ended: EndedRun,
  options: DecisionOptions,
  given: DecisionRequest,
): Leg {
  const record = decideEnded(ended, decidedRequest(given, undefined));
  const plan = { ...callbacksOf(agent, options), schema: options.structuredOutput?.schema };
  return endedLeg(ended, record, plan, agent.binding().worker.warn);
}

function decideOpen(
  agent: AgentCore,
  lease: Lease,
  options: DecisionOptions,
  given: DecisionRequest,
  target: Target,
): Promise<Leg> {
  const { worker } = agent.binding();
  return withLease(lease, async () => {
    const { log } = lease;
    const request = decidedRequest(given, log.run.calls.get(target.toolCallId)?.state);
    decide(log.run, request, target, 0);
    const legParts = await partsOf(agent, worker, log.run.started, options, false);
    const checked = await checkData(request, target.toolCallId, log.run, legParts);
    return runLeg(agent, lease, legParts, options, async (leg, parts) => {
      const repeated = await commitDecision(log, parts, leg, (run) =>
        decide(run, checked, target, worker.clock.now()),
      );
      if (repeated) leg.begin([target.toolCallId]);
    });
  });
}

/** Appends the decision with the claims it makes possible. True when this very decision was recorded before. */
async function commitDecision(
  log: RunLog,
  parts: Parts,
  leg: Leg,
  propose: (run: Run) => CallDecided | undefined,
): Promise<boolean> {
  let repeated = false;
  await log.commit(
    (run) => {
      const event = propose(run);
      repeated = event === undefined;
      if (event) {
        leg.beginAt((stored) => stored === event);
      }
      // Whoever decides brings what the stalled run lacked, or repeats the decision to try again.
      const goesOn = lastStep(run)?.state === 'stalled' ? [continued(run, parts, undefined)] : [];
      return event ? [event, ...goesOn] : goesOn;
    },
    { me: parts.me },
  );
  return repeated;
}

/** Says what became of a call whose worker died while it ran. */
export async function resolveCall(agent: AgentCore, options: ResolveOptions): Promise<Leg> {
  checkRequest(options);
  return decideCall(agent, options, { verdict: 'resolve', resolution: resolutionOf(options) });
}

function resolutionOf({
  runAgain,
  output,
  error,
  toolCallId,
  runId,
}: ResolveOptions): Decision['resolution'] {
  const given = [runAgain, output, error].filter((word) => word !== undefined);
  const isPlain =
    (runAgain === undefined || runAgain === true) &&
    (error === undefined || (typeof error === 'string' && error.trim() !== ''));
  if (given.length !== 1 || !isPlain) {
    throw new CountersignError('invalid-decision', 'It is not clear what is to become of the call.', {
      runId,
      toolCallId,
      expected: 'exactly one of { runAgain: true }, { output } (null for none) and { error: text }',
    });
  }
  if (runAgain) return 'run-again';
  return error === undefined ? { output: toJson(output, 'output') } : { error };
}

function requestOf(options: DecisionOptions): Omit<DecisionRequest, 'verdict'> {
  const { runId, toolCallId, stop, fingerprint, reason, by, decisionId } = options;
  return { runId, toolCallId, stop, fingerprint, reason, by, decisionId };
}

/** `resumeStream` on a held call is a decision only for exactly `{ approved, reason? }`. */
function decidedRequest(given: DecisionRequest, state: string | undefined): DecisionRequest {
  if (given.verdict !== 'resume' || state === 'suspended') return given;
  const verdict = verdictIn(given.data);
  return verdict ? { ...given, data: undefined, ...verdict } : given;
}

/** Resume data is checked before anything is written; what is wrong is an error and the call keeps waiting. */
async function checkData(
  request: DecisionRequest,
  toolCallId: string,
  run: Run,
  parts: LegParts,
): Promise<DecisionRequest> {
  const call = run.calls.get(toolCallId);
  checkSize(request.resolution, parts, toolCallId);
  if (request.verdict !== 'resume' || call?.state !== 'suspended') return request;
  const tool = parts.tools.get(call.toolName)?.tool;
  const details = { runId: run.started.runId, toolCallId, toolName: call.toolName };
  if (tool === undefined) {
    throw new CountersignError('agent-missing', `The agent has no tool "${call.toolName}" any more.`, {
      ...details,
      todo: 'Decide it where the tool is deployed, or decline it.',
    });
  }
  if (request.data === undefined) {
    throw new CountersignError('invalid-resume-data', 'There is no resume data.', {
      ...details,
      expected: tool.resumeSchema ? "data for the tool's resumeSchema" : 'a JSON value',
    });
  }
  const valid = await validate(tool.resumeSchema, request.data);
  if (valid.ok) return request;
  throw new CountersignError('invalid-resume-data', 'The resume data does not match the resumeSchema.', {
    ...details,
    issues: valid.issues,
    expected: valid.issues.join('; '),
    todo: 'The call keeps waiting.',
  });
}

function checkSize(
  resolution: DecisionRequest['resolution'],
  { limits }: LegParts,
  toolCallId: string,
): void {
  const length = typeof resolution === 'object' ? JSON.stringify(resolution).length : 0;
  if (length <= limits.result) return;
  throw new CountersignError('too-large', `The result has ${length} characters of JSON.`, {
    toolCallId,
    expected: `at most ${limits.result}`,
  });
}
