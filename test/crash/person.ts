/** The person: decides what waits by its arguments, and says what happened where nobody knows. */
import type { Agent } from '../../src/agent/agent.ts';
import type { ListedCall } from '../../src/agent/list.ts';
import type { AgentStream } from '../../src/stream/output.ts';
import { orderFor, type Scenario } from './desk.ts';
import { factsOf, type Journal } from './journal.ts';

/** Begins the run and decides until nothing waits any more. Each word of the product is noted when it comes. */
export async function play(scenario: Scenario, agent: Agent, runId: string, journal: Journal): Promise<void> {
  const first = await agent.stream(orderFor(scenario, runId), { runId, ...scenario.options });
  await listen(first, journal);
  for (;;) {
    const { runs } = await agent.listSuspendedRuns();
    const calls = runs.find((run) => run.runId === runId)?.toolCalls ?? [];
    const [call] = calls;
    if (call === undefined) return;
    if (scenario.cancels) {
      await cancel(agent, runId, journal);
    } else if (scenario.decidesAtOnce) {
      await Promise.all(calls.map((one) => decide(agent, runId, one, journal)));
    } else {
      await decide(agent, runId, call, journal);
    }
  }
}

export async function cancel(agent: Agent, runId: string, journal: Journal): Promise<void> {
  journal.note({ runId, type: 'cancel-asked' });
  await agent.cancelRun({ runId, reason: 'no longer needed' });
  journal.note({ runId, type: 'cancel-acknowledged' });
}

/** Says what is to become of a waiting call, and follows what comes of it. */
export async function decide(agent: Agent, runId: string, call: ListedCall, journal: Journal): Promise<void> {
  const { toolCallId, stop, fingerprint, state } = call;
  const verdict = verdictOn(call);
  journal.note({ runId, type: 'asked', toolCallId, stop, verdict });
  const on = { runId, toolCallId, stop, fingerprint, by: { id: 'ann' } };
  let leg: AgentStream;
  if (state === 'interrupted')
    leg = await agent.resolveInterruptedCall({ ...on, ...whatHappened(on, journal) });
  else if (verdict === 'decline') leg = await agent.declineToolCall({ ...on, reason: 'not now' });
  else if (verdict === 'resume') leg = await agent.resumeStream({ ok: true }, on);
  else leg = await agent.approveToolCall(on);
  journal.note({ runId, type: 'acknowledged', toolCallId, stop, verdict });
  await listen(leg, journal);
}

function verdictOn({ state, args }: ListedCall): string {
  if (state === 'interrupted') return 'resolve';
  if (String((args as { id: string }).id).startsWith('no-')) return 'decline';
  return state === 'suspended' ? 'resume' : 'approve';
}

/** The person looks whether it happened. */
function whatHappened(
  { runId, toolCallId }: { runId: string; toolCallId: string },
  journal: Journal,
): { output: unknown } | { runAgain: true } {
  const happened = factsOf(journal.read(runId), 'effect').some((effect) => effect.toolCallId === toolCallId);
  return happened ? { output: { by: 'person' } } : { runAgain: true };
}

async function listen(leg: AgentStream, journal: Journal): Promise<void> {
  const { runId } = leg;
  for await (const chunk of leg.fullStream) {
    if (chunk.type === 'tool-call-approval' || chunk.type === 'tool-call-suspended') {
      const { toolCallId, stop } = chunk.payload;
      const kind = chunk.type === 'tool-call-approval' ? 'held' : 'suspended';
      journal.note({ runId, type: 'announced', toolCallId, stop, kind });
    } else if (chunk.type === 'error') {
      journal.note({
        runId,
        type: 'wrong',
        what: `a leg ended with an error: ${chunk.payload.error.message}`,
      });
    }
  }
}
