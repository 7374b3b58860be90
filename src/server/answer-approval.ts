/** A decision on the approvals routes: recorded, then answered at once, while the run goes on by itself. */
import type { Agent } from '../agent/agent.ts';
import { acquireAny } from '../agent/legs.ts';
import type { DecisionOptions, ResolveOptions } from '../agent/options.ts';
import { decisionRecord } from '../core/batch.ts';
import { findCall } from '../core/below.ts';
import { withoutValues } from '../core/decide.ts';
import { CountersignError, type ErrorCode } from '../core/errors.ts';
import { approvalFields, refusedWith, type Verb, wordsOf } from './decide.ts';
import { anything, type Fields, onlyTrue, required, text } from './field.ts';
import { callNotFound, checkMayDecide, findRun } from './found-run.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';

interface Described {
  readonly summary: string;
  readonly fields: Fields;
  readonly errors: readonly ErrorCode[];
}

export const verbs: Readonly<Record<Verb, Described>> = {
  approve: { summary: 'Approves a held call', fields: approvalFields, errors: refusedWith.approve },
  decline: {
    summary: 'Declines a held or suspended call',
    fields: approvalFields,
    errors: refusedWith.decline,
  },
  resume: {
    summary: 'Resumes a call that suspended itself, with data',
    fields: { ...approvalFields, data: required(anything) },
    errors: [...refusedWith.resume, 'agent-missing'],
  },
  resolve: {
    summary: 'Says what became of an interrupted call: run it again, its output, or its error',
    fields: { ...approvalFields, runAgain: onlyTrue, output: anything, error: text },
    errors: refusedWith.resolve,
  },
};

export interface Recorded {
  readonly accepted: true;
  readonly runId: string;
  readonly toolCallId: string;
  /** False: the agent's code is elsewhere, and a process that has it goes on with the run. */
  readonly driven: boolean;
  /** As it is recorded, without arguments and data. */
  readonly decision: object | undefined;
}

/** @param body checked against the fields of the verb. */
export async function answerApproval(
  parts: ServerParts,
  identity: Identity | undefined,
  { runId, toolCallId }: { readonly runId: string; readonly toolCallId: string },
  verb: Verb,
  body: Readonly<Record<string, unknown>>,
): Promise<Recorded> {
  const found = await findRun(parts, identity, runId);
  await checkMayDecide(parts, identity, found, toolCallId);
  const decision = { ...wordsOf(body, identity), runId, toolCallId, stop: body.stop as number };
  const agent = parts.agents.get(found.facts.agentId);
  if (agent) await decideHere(agent, verb, decision, body);
  else if (verb === 'approve' || verb === 'decline') {
    await parts.countersign.decideToolCall({ ...decision, verdict: verb });
  } else throw agentMissing(found.facts);
  return {
    accepted: true,
    runId,
    toolCallId,
    driven: agent !== undefined,
    decision: await recordedDecision(parts, runId, toolCallId, decision.stop),
  };
}

async function decideHere(
  agent: Agent,
  verb: Verb,
  decision: DecisionOptions & { readonly toolCallId: string },
  { data, runAgain, output, error }: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (verb === 'approve') await agent.approveToolCall(decision);
  else if (verb === 'decline') await agent.declineToolCall(decision);
  else if (verb === 'resume') await agent.resumeStream(data, decision);
  else await agent.resolveInterruptedCall({ ...decision, runAgain, output, error } as ResolveOptions);
}

async function recordedDecision(
  { worker }: ServerParts,
  runId: string,
  toolCallId: string,
  stop: number,
): Promise<object | undefined> {
  const found = await acquireAny(worker, runId);
  if (found.kind === 'ended') {
    const record = found.records.find((one) => one.toolCallId === toolCallId && one.stop === stop);
    return record && withoutValues(record);
  }
  found.release();
  const { run } = found.log;
  const call = findCall(run, toolCallId)?.call;
  if (call === undefined) throw callNotFound(run.started, toolCallId);
  const decided = call.decisions.find((one) => one.stop === stop);
  return decided && withoutValues(decisionRecord(run, decided));
}

export function agentMissing({ agentId, runId }: { agentId: string; runId: string }): CountersignError {
  return new CountersignError('agent-missing', `The agent "${agentId}" of the run is not here.`, {
    agentId,
    runId,
    todo: 'Approve or decline, or ask a server that has that agent.',
  });
}
