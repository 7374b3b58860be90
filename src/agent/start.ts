/** Begins a run. */
import { CountersignError } from '../core/errors.ts';
import { toMessages } from '../core/message.ts';
import type { Leg } from '../stream/leg.ts';
import { runLeg } from './legs.ts';
import type { RunOptions } from './options.ts';
import { partsOf, startedEvent } from './prepare.ts';
import type { AgentCore, MessagesInput } from './types.ts';

export async function startRun(agent: AgentCore, input: MessagesInput, options: RunOptions): Promise<Leg> {
  const { worker } = agent.binding();
  const started = startedEvent(agent, toMessages(await agent.messages(input)), options, worker);
  if (options.runId !== undefined && (await worker.store.load(options.runId, 0))) {
    throw new CountersignError('run-exists', `A run "${options.runId}" exists already.`, {
      runId: options.runId,
      todo: 'Leave runId out, and one is made.',
    });
  }
  const parts = await partsOf(agent, worker, started, options, true);
  const lease = worker.begin(started);
  return runLeg(agent, lease, parts, options, (leg) => leg.begin());
}
