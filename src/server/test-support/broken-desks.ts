/** Desks on which something went wrong before: a worker died in a call, or a model failed. */
import { InMemoryStore } from '../../store/memory.ts';
import { crashStore } from '../../testing/crash-store.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { type Chunk, type Desk, openDesk, type Plan } from './desk.ts';

/** A desk whose worker finds a call of Ada's of which nobody knows whether it ran. */
export async function interruptedDesk(plan: Plan = {}): Promise<{ desk: Desk; held: Chunk['payload'] }> {
  let now = 0;
  const storage = new InMemoryStore({ now: () => now });
  const crashing = crashStore(storage);
  const died = Promise.withResolvers<void>();
  const dying = openDesk({ registry: { storage: crashing } });
  const held = await dying.hold('ada', 'delete a');
  dying.done.push = () => {
    crashing.die();
    died.resolve();
    return 0;
  };
  void dying.post('ada', `/api/approvals/${held.runId}/${held.toolCallId}/approve`, { stop: 1 });
  await died.promise;
  now += 60_000;
  return { desk: openDesk({ ...plan, registry: { storage } }), held };
}

/** A desk with a run of Ada's whose model failed once, after its call was carried out. */
export async function stalledDesk(plan: Plan = {}): Promise<{ desk: Desk; runId: string }> {
  let failures = 1;
  const model = scriptedModel((prompt) => {
    if (prompt.at(-1)?.role === 'user') return { calls: [{ toolName: 'delete', args: { what: 'a' } }] };
    return failures-- > 0 ? { error: new Error('down') } : 'Done.';
  });
  const desk = openDesk({ ...plan, agent: { model, defaultOptions: { maxRetries: 0 } } });
  const { runId, toolCallId } = await desk.hold('ada', 'delete a');
  await desk.events('ada', '/api/agents/desk/approve-tool-call', { runId, toolCallId });
  return { desk, runId };
}
