/** Decides one call: approve, decline, resume. */
import { type Found, findCall, firstIdOf, pathTo } from '../core/below.ts';
import { type DecisionRequest, decide, type Target, targetOf, verdictIn } from '../core/decide.ts';
import { CountersignError } from '../core/errors.ts';
import type { CallDecided, Decision, Holder } from '../core/event.ts';
import { toJson } from '../core/json.ts';
import type { Parts } from '../core/parts.ts';
import { validate } from '../core/schema.ts';
import type { Call, Run } from '../core/state.ts';
import type { EndedRun } from '../core/store.ts';
import { endedLeg } from '../stream/ended.ts';
import type { Leg } from '../stream/leg.ts';
import { optionKeys } from './check-options.ts';
import { checkRequest } from './check-request.ts';
import { continued, moverMissing } from './continuation.ts';
import { decideEnded } from './ended-decision.ts';
import {
  acquire,
  callbacksOf,
  followedLeg,
  orFromRecords,
  type RunLease,
  runLeg,
  withLease,
} from './legs.ts';
import { broughtToRoot, type DecisionOptions, type ResolveOptions } from './options.ts';
import { type LegParts, partsOf } from './prepare.ts';
import { telemetryOf, traceDecision } from './telemetry.ts';
import type { AgentCore } from './types.ts';
import type { Lease } from './worker.ts';

/** Approve, decline, resume. Resolves when the decision is stored; the leg then carries what follows. */
export async function decideCall(
  agent: AgentCore,
  options: DecisionOptions,
  word: Pick<DecisionRequest, 'verdict' | 'data' | 'resolution' | 'answering'>,
): Promise<Leg> {
  checkRequest(options, word.verdict === 'resolve' ? optionKeys.resolve : optionKeys.decision, 'a decision');
  const given: DecisionRequest = { ...requestOf(options), ...word };
  const { worker } = agent.binding();
  const lease = await acquire(agent, worker, options.runId, options);
  if (lease.kind === 'ended') return legOfRecord(agent, lease, options, given);
  const target = chosen(lease, given, agent);
  return orFromRecords(
    () => decideOpen(agent, lease, options, given, target),
    () => acquire(agent, worker, options.runId, options),
    // What others left is the answer, for the stop that was meant.
    (ended) => legOfRecord(agent, ended, options, { ...given, ...target }),
  );
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
  const record = decideEnded(ended, given);
  // Of a run below the text is not kept, so that there is nothing to read an object from.
  const schema = firstIdOf(ended.runId) === ended.runId ? options.structuredOutput?.schema : undefined;
  const plan = { ...callbacksOf(agent, options), schema };
  return endedLeg(ended, record, plan, agent.binding().worker.warn);
}

function decideOpen(
  agent: AgentCore,
  lease: RunLease,
  options: DecisionOptions,
  given: DecisionRequest,
  target: Target,
): Promise<Leg> {
  const { worker } = agent.binding();
  return withLease(lease, async () => {
    const { log, root, mover } = lease;
    const found = findCall(log.run, target.toolCallId);
    const request = decidedRequest(given, found?.call.state);
    decide(log.run, request, target, 0);
    if (mover === undefined) {
      if (request.verdict === 'resume' || request.verdict === 'resolve') throw moverMissing(root.run);
      return followedLeg(agent, lease, options, (leg) =>
        commitDecision(agent, lease, leg, undefined, request, target),
      );
    }
    const brought = broughtToRoot(options, log === root, root.run.started);
    const legParts = await partsOf(mover, worker, root.run, brought, false);
    const checked = found ? await checkData(request, found, log.run, root.run, legParts) : request;
    return runLeg(agent, lease, legParts, options, (leg, { me }) =>
      commitDecision(agent, lease, leg, me, checked, target),
    );
  });
}

/** Appends the decision with the claims it makes possible. */
async function commitDecision(
  agent: AgentCore,
  { log, root }: Pick<RunLease, 'log' | 'root'>,
  leg: Leg,
  me: Holder | undefined,
  request: DecisionRequest,
  target: Target,
): Promise<void> {
  const { clock } = agent.binding().worker;
  const began = clock.now();
  let before: Found | undefined;
  let decided: CallDecided | undefined;
  await log.commit(
    (run) => {
      const event = decide(run, request, target, clock.now());
      before = findCall(run, target.toolCallId);
      decided = event;
      if (event) {
        leg.beginAt((stored) => stored === event);
      }
      // Whoever decides brings what the stalled run lacked, or repeats the decision to try again.
      const goesOn = me ? continued(root.run, log.runId, clock.now(), undefined) : [];
      return event ? [event, ...goesOn] : goesOn;
    },
    { me },
  );
  // This very decision was recorded before.
  if (decided === undefined) leg.begin([target.toolCallId]);
  else if (before) traceDecision(telemetryOf(agent), root.run.started, before, decided, began);
}

/** Says what became of a call whose worker died while it ran. */
export async function resolveCall(agent: AgentCore, options: ResolveOptions): Promise<Leg> {
  const resolution = resolutionOf(options ?? {});
  return decideCall(agent, options, { verdict: 'resolve', resolution });
}

function resolutionOf({
  runAgain,
  output,
  error,
  toolCallId,
  runId,
}: Partial<ResolveOptions>): Decision['resolution'] {
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
  const { runId, toolCallId, stop, fingerprint, reason, by, via, decisionId } = options;
  return { runId, toolCallId, stop, fingerprint, reason, by, via, decisionId };
}

/** `resumeStream` on a held call is a decision only for exactly `{ approved, reason? }`. */
function decidedRequest(given: DecisionRequest, state: string | undefined): DecisionRequest {
  if (given.verdict !== 'resume' || state !== 'held' || given.answering) return given;
  const verdict = verdictIn(given.data);
  return verdict ? { ...given, data: undefined, ...verdict } : given;
}

/** Resume data is checked before anything is written; what is wrong is an error and the call keeps waiting. */
async function checkData(
  request: DecisionRequest,
  { id: toolCallId, run: owner, call }: Found,
  run: Run,
  root: Run,
  parts: LegParts,
): Promise<DecisionRequest> {
  checkSize(request.resolution, parts, toolCallId);
  if (request.verdict !== 'resume' || call.state !== 'suspended') return request;
  const tool = (await toolsOf(owner, root, parts)).get(call.toolName)?.tool;
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

/** The tools of the run itself, or of a run below it. */
async function toolsOf(owner: Run, root: Run, parts: LegParts): Promise<Parts['tools']> {
  let run = root;
  let below: Parts = { ...parts, me: { worker: '', leg: '' } };
  // The state may have moved on since the call was found, so that only ids can be compared.
  const { runId } = owner.started;
  for (const { toolCallId } of runId === root.started.runId ? [] : pathTo(root, runId)) {
    const { child, toolName } = run.calls.get(toolCallId) as Call & { child: Run };
    const delegate = below.tools.get(toolName)?.delegate;
    if (delegate === undefined) return new Map();
    below = await delegate.partsOf(child.started, below);
    run = child;
  }
  return below.tools;
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
