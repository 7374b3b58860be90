/** Begins a run. */
import { existsError } from '../core/log.ts';
import { toMessages } from '../core/message.ts';
import type { Leg } from '../stream/leg.ts';
import { checkKeys } from './known-keys.ts';
import { runLeg } from './legs.ts';
import { optionKeys, type RunOptions } from './options.ts';
import { partsOf, startedEvent } from './prepare.ts';
import type { AgentCore, MessagesInput } from './types.ts';

export async function startRun(agent: AgentCore, input: MessagesInput, options: RunOptions): Promise<Leg> {
  checkKeys(options, optionKeys.run, 'stream and generate');
  const { worker } = agent.binding();
  const started = await startedEvent(agent, toMessages(await agent.messages(input)), options, worker);
  const { runId } = options;
  const exists = runId !== undefined && (await worker.store.load(runId, Number.MAX_SAFE_INTEGER));
  if (exists) throw existsError(runId);
  const parts = await partsOf(agent, worker, started, options, true);
  const lease = worker.begin(started);
  return runLeg(agent, lease, parts, options, (leg) => leg.begin());
}
