/** Owns what becomes of the answers on a chat page: each is decided by itself, by those alone who may. */
import type { Agent } from '../agent/agent.ts';
import { findCall } from '../core/below.ts';
import { type CountersignError, isCountersignError } from '../core/errors.ts';
import { isWaiting } from '../core/state.ts';
import type { AgentStream } from '../stream/output.ts';
import type { Answer } from './chat-body.ts';
import { invalid } from './field.ts';
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

/** More are not taken at once: each is a transaction. */
const answersAtMost = 100;

/**
 * Decides in order. An answer to what is decided already changes nothing.
 * @throws `invalid-request` where there are too many: nothing is decided then.
 */
export async function decideAnswers(
  parts: ServerParts,
  agent: Agent,
  identity: Identity | undefined,
  found: FoundRun,
  answers: readonly Answer[],
): Promise<Decided> {
  const open = answers.filter((answer) => !isPast(found, answer));
  if (open.length > answersAtMost) {
    throw invalid('body', [`messages.parts: must answer at most ${answersAtMost} calls at once`]);
  }
  let leg: AgentStream | undefined;
  // An output of the past is the history, no answer.
  let count = answers.filter((answer) => answer.to === 'approval' && isPast(found, answer)).length;
  const refused: Decided['refused'][number][] = [];
  for (const answer of open) {
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
