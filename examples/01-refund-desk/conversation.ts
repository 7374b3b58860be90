/** One customer's request, from the first word to the answer, over all the pauses in between. */
import type { Agent, AgentStream } from 'countersign';
import type { Desk } from './desk.ts';
import { type HeldCall, print, printRows, showLeg } from './print.ts';
import type { Reviewer, Verdict } from './review.ts';

const request = 'My lamp, order ord-1042, arrived broken. Please refund it and confirm by mail.';

/** 'waiting': somebody still has to decide. The run is in the store, and any later process can go on. */
export type End = 'answered' | 'waiting' | 'failed';

/** Where a run is after a leg: at a call that waits, or at its end. */
interface Place {
  readonly runId: string;
  readonly call: HeldCall | undefined;
  readonly hasFailed: boolean;
}

export async function runConversation(desk: Desk, reviewer: Reviewer): Promise<End> {
  let place = (await takeUp(desk)) ?? (await begin(desk));
  while (place.call) {
    print.held(place.call);
    const verdict = await reviewer(place.call);
    if (verdict === 'later') return 'waiting';
    place = await follow(await decide(desk.agent, place.runId, place.call, verdict));
  }
  return place.hasFailed ? 'failed' : 'answered';
}

async function begin({ agent, shop }: Desk): Promise<Place> {
  shop.reset();
  printRows('The database before', shop.rows());
  print.customer(request);
  return follow(await agent.stream(request));
}

/** Takes up what an earlier process left: a call that waits for a person, or a run whose model failed. */
async function takeUp({ agent, shop }: Desk): Promise<Place | undefined> {
  const { runs } = await agent.listSuspendedRuns({ status: 'all' });
  const left = runs.find(({ status }) => status === 'suspended' || status === 'stalled');
  if (left === undefined) return undefined;
  const { runId, status, suspendedAt, toolCalls } = left;
  print.note(
    `Process ${process.pid} found a run in the store: ${status} since ${suspendedAt.toISOString()}.`,
  );
  printRows('The database before', shop.rows());
  if (status === 'stalled') return follow(await agent.continueRun({ runId }));
  return { runId, call: toolCalls[0], hasFailed: false };
}

/** Shows a leg as it comes. */
async function follow(leg: AgentStream): Promise<Place> {
  await showLeg(leg);
  const [call] = await leg.suspendPayloads;
  return { runId: leg.runId, call, hasFailed: (await leg.error) !== undefined };
}

/** The decision names the call, its stop and its fingerprint: it can hit nothing but what the person saw. */
export function decide(
  agent: Agent,
  runId: string,
  { toolCallId, stop, fingerprint }: HeldCall,
  verdict: Exclude<Verdict, 'later'>,
): Promise<AgentStream> {
  const decision = { runId, toolCallId, stop, fingerprint, by: { id: 'demo', name: 'You' } };
  return verdict.approved
    ? agent.approveToolCall(decision)
    : agent.declineToolCall({ ...decision, reason: verdict.reason });
}
