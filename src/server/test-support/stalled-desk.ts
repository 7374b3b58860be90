import { scriptedModel } from '../../testing/scripted-model.ts';
import { type Desk, openDesk, type Plan } from './desk.ts';

/**
 * A desk with a run of Ada's whose model failed once, after its call was carried out.
 * @param open what opens the desk.
 */
export async function stalledDesk(
  plan: Plan = {},
  open: (plan: Plan) => Desk = openDesk,
): Promise<{ desk: Desk; runId: string }> {
  let failures = 1;
  const model = scriptedModel((prompt) => {
    if (prompt.at(-1)?.role === 'user') return { calls: [{ toolName: 'delete', args: { what: 'a' } }] };
    return failures-- > 0 ? { error: new Error('down') } : 'Done.';
  });
  const desk = open({ ...plan, agent: { model, defaultOptions: { maxRetries: 0 } } });
  const { runId, toolCallId } = await desk.hold('ada', 'delete a');
  await desk.events('ada', '/api/agents/desk/approve-tool-call', { runId, toolCallId });
  return { desk, runId };
}
