/** Owns what becomes of the answers on a chat page: each is decided by itself, by those alone who may. */
import type { Agent } from '../agent/agent.ts';
import { findCall } from '../core/below.ts';
import { type CountersignError, isCountersignError } from '../core/errors.ts';
import { isWaiting } from '../core/state.ts';
import type { AgentStream } from '../stream/output.ts';
import type { Answer } from './chat-body.ts';
import { checkMayDecide, type FoundRun } from './found-run.ts';
import { type Identity, personOf } from './identity.ts';
import type { ServerParts } from './parts.ts';

export interface Decided {
  /** Of the last one that was taken. */
  readonly leg: AgentStream | undefined;
  /** How many stops are decided now, by these answers or by others. */
  readonly count: number;
  readonly refused: readonly { readonly toolCallId: string; readonly error: CountersignError }[];
}

/** Decides in order. An answer to what is decided already changes nothing. */
export async function decideAnswers(
  parts: ServerParts,
  agent: Agent,
  identity: Identity | undefined,
  found: FoundRun,
  answers: readonly Answer[],
): Promise<Decided> {
  let leg: AgentStream | undefined;
  let count = 0;
  const refused: Decided['refused'][number][] = [];
  for (const answer of answers) {
    if (isPast(found, answer)) {
      // An output of the past is the history, no answer.
      if (answer.to === 'approval') count++;
      continue;
    }
    try {
      await checkMayDecide(parts, identity, found, answer.toolCallId);
      leg = await decide(agent, identity, answer);
      count++;
    } catch (error) {
      if (!isCountersignError(error)) throw error;
      if (['already-decided', 'run-ended', 'call-not-waiting'].includes(error.code)) count++;
      else refused.push({ toolCallId: answer.toolCallId, error });
    }
  }
  return { leg, count, refused };
}

function isPast({ run }: FoundRun, { to, toolCallId, stop }: Answer): boolean {
  if (run === undefined) return true;
  const call = findCall(run, toolCallId)?.call;
  if (call === undefined) return false;
  // What is held has no output: only an approval decides it.
  if (to === 'output' && call.state !== 'suspended') return true;
  return call.stop > stop || (call.stop === stop && !isWaiting(call));
}

function decide(agent: Agent, identity: Identity | undefined, answer: Answer): Promise<AgentStream> {
  const { runId, toolCallId, stop, reason } = answer;
  const decision = {
    runId,
    toolCallId,
    stop,
    ...(reason === undefined ? {} : { reason }),
    ...personOf(identity),
    via: 'chat' as const,
  };
  if (answer.verdict === 'approve') return agent.approveToolCall(decision);
  if (answer.verdict === 'decline') return agent.declineToolCall(decision);
  return agent.resumeStream(answer.data, decision);
}
