/** Which model answers: yours if there is a key, else a scripted one behind a real HTTP server. */
import type { ModelInput } from 'countersign';
import { startScriptedModel } from './scripted-model.ts';

export interface ChosenModel {
  readonly model: ModelInput;
  readonly about: string;
  close(): Promise<void>;
}

export async function chooseModel(env: NodeJS.ProcessEnv): Promise<ChosenModel> {
  const id =
    env.COUNTERSIGN_MODEL ||
    (env.OPENAI_API_KEY && 'openai/gpt-5-mini') ||
    (env.ANTHROPIC_API_KEY && 'anthropic/claude-sonnet-5');
  if (id) return { model: id, about: id, close: async () => {} };
  return startScriptedModel();
}
