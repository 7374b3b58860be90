/** How a process of a race decides: each of its calls once, in one of the ways that the product has, at random. */
import { type Agent, type Countersign, isCountersignError } from '../../src/index.ts';
import type { Answer } from './history.ts';
import type { Journal } from './journal.ts';
import type { FromProcess, Target } from './messages.ts';
import type { Random } from './random.ts';

interface AskingParts {
  /** Left out where the process has not the agent's code. */
  readonly desk: { readonly agent: Agent } | undefined;
  readonly countersign: Countersign;
  readonly journal: Journal;
  readonly random: Random;
  say(message: FromProcess): void;
}

/** How often a question without an answer is repeated. */
const repeatsAtMost = 200;

export function openAsking({ desk, countersign, journal, random, say }: AskingParts) {
  /** Decides, and says when the answer is there. */
  async function put(target: Target, token: string, verdict: 'approve' | 'decline'): Promise<void> {
    const decision = { ...target, stop: 1, by: { id: token }, decisionId: token, reason: `by ${token}` };
    if (desk === undefined) {
      await countersign.decideToolCall({ ...decision, verdict });
      return;
    }
    const { agent } = desk;
    switch (random.pick(['stream', 'stream', 'generate', 'generate', 'registry', 'resume'])) {
      case 'stream': {
        const leg = verdict === 'approve' ? agent.approveToolCall(decision) : agent.declineToolCall(decision);
        // One that goes away changes nothing.
        if (random.below(4) > 0) await (await leg).consumeStream();
        else await leg;
        return;
      }
      case 'generate':
        await (verdict === 'approve'
          ? agent.approveToolCallGenerate(decision)
          : agent.declineToolCallGenerate(decision));
        return;
      case 'registry':
        await countersign.decideToolCall({ ...decision, verdict });
        return;
      case 'resume':
        await agent.resumeGenerate({ approved: verdict === 'approve' }, decision);
    }
  }

  /** Asks once, and writes down what was asked and what was told. */
  async function ask(target: Target, token: string, verdict: 'approve' | 'decline'): Promise<Answer> {
    const id = journal.asked({ ...target, stop: 1, decision: { token, verdict, by: token } });
    say({ type: 'asked' });
    const answer = await put(target, token, verdict).then((): Answer => ({ type: 'accepted' }), answerOf);
    journal.told(id, answer);
    return answer;
  }

  /** Looks whether a call waits, as a reviewer's page does. */
  async function look(target: Target): Promise<void> {
    if (desk === undefined) return;
    const id = journal.asked({ ...target, stop: 1 });
    const answer = await desk.agent
      .listSuspendedRuns({ threadId: `thread of ${target.runId}` })
      .then(({ runs }): Answer => {
        const calls = runs.flatMap(({ toolCalls }) => toolCalls);
        const waits = calls.some(
          ({ toolCallId, state }) => toolCallId === target.toolCallId && state === 'held',
        );
        return { type: waits ? 'waiting' : 'not-waiting' };
      }, answerOf);
    journal.told(id, answer);
  }

  async function decide(target: Target, token: string): Promise<void> {
    if (random.below(4) === 0) await look(target);
    const verdict = random.pick(['approve', 'decline'] as const);
    for (let repeat = 0; ; repeat++) {
      const answer = await ask(target, token, verdict);
      if (answer.type !== 'unknown') break;
      if (repeat === repeatsAtMost) throw new Error(`No answer for ${target.runId}: ${answer.code}`);
      // The database is away: a person would try again after a while.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    if (random.below(8) === 0) await look(target);
    say({ type: 'told', target });
  }

  return {
    async all(targets: readonly Target[], atOnce: number): Promise<void> {
      const open = targets.entries();
      const lane = async (): Promise<void> => {
        for (const [, target] of open) {
          await decide(target, crypto.randomUUID().slice(0, 8));
          // As requests come over a network: with a synchronous store the event loop would never turn.
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
    },
  };
}

/** What an error tells about the decision. */
function answerOf(error: unknown): Answer {
  if (!isCountersignError(error)) return { type: 'refused', code: String(error) };
  const { code, decision } = error;
  if (code === 'store-failed') return { type: 'unknown', code };
  // The decision is stored; the model call that its leg then made was another worker's, as ours seemed dead.
  if (code === 'taken-over') return { type: 'accepted' };
  if (code !== 'already-decided') return { type: 'refused', code: `${code}: ${error.message}` };
  const { decisionId, verdict } = decision as { decisionId?: string; verdict: string };
  return { type: 'already-decided', token: decisionId ?? '(no token)', verdict };
}
