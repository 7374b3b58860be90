/** Decides one call: approve, decline, resume. */
import {
  checkRequest,
  type DecisionRequest,
  decide,
  decideEnded,
  targetOf,
  verdictIn,
} from '../core/decide.ts';
import { CountersignError } from '../core/errors.ts';
import type { CallDecided } from '../core/event.ts';
import type { RunLog } from '../core/log.ts';
import type { Parts } from '../core/parts.ts';
import { validate } from '../core/schema.ts';
import { lastStep, type Run } from '../core/state.ts';
import { endedLeg } from '../stream/ended.ts';
import type { Leg } from '../stream/leg.ts';
import { continued } from './continuation.ts';
import { acquire, runLeg, withLease } from './legs.ts';
import type { DecisionOptions } from './options.ts';
import { partsOf } from './prepare.ts';
import type { AgentCore } from './types.ts';

/** Approve, decline, resume. Resolves when the decision is stored; the leg then carries what follows. */
export async function decideCall(
  agent: AgentCore,
  verdict: DecisionRequest['verdict'],
  options: DecisionOptions,
  data?: { readonly value: unknown },
): Promise<Leg> {
  checkRequest(options);
  const given: DecisionRequest = { ...requestOf(options), verdict, ...(data ? { data: data.value } : {}) };
  const { worker } = agent.binding();
  const lease = await acquire(agent, worker, options.runId);
  if (lease.kind === 'ended') {
    const record = decideEnded(lease, decidedRequest(given, undefined));
    return endedLeg(lease, record, worker.warn);
  }
  return withLease(lease, async () => {
    const { log } = lease;
    const target = targetOf(log.run, given, agent.whenSeveralWait());
    const request = decidedRequest(given, log.run.calls.get(target.toolCallId)?.state);
    decide(log.run, request, target, 0);
    const parts = await partsOf(agent, worker, log.run.started, options, false);
    const checked = await checkData(request, target.toolCallId, log.run, parts);
    return runLeg(agent, lease, parts, options, async (leg) => {
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
        return [event];
      }
      return lastStep(run)?.state === 'stalled' ? [continued(run, parts, undefined)] : [];
    },
    { me: parts.me },
  );
  return repeated;
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
  parts: Parts,
): Promise<DecisionRequest> {
  const call = run.calls.get(toolCallId);
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
