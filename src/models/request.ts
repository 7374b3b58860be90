/** What a model is asked in the next step of a run: the prompt, and the tools that it may call. */
import type { ModelRequest, ToolDescription } from '../core/model.ts';
import { activeTools, type Parts, type StepRequest } from '../core/parts.ts';
import type { Run } from '../core/state.ts';
import type { Tool } from '../core/tool.ts';

/** The request of the run's last step, which is claimed. */
export async function requestOf(run: Run, parts: Omit<Parts, 'me' | 'requestOf'>): Promise<StepRequest> {
  const { options, instructions } = parts;
  return {
    messages: parts.messagesOf(run),
    instructions,
    tools: await toolsOffered(parts, run.steps.length - 1),
    toolChoice: toolChoiceOf(parts),
    settings: options.modelSettings,
    providerOptions: options.providerOptions,
    outputSchema: options.outputSchema,
    maxRetries: options.maxRetries,
  };
}

type Offering = Pick<Parts, 'options' | 'tools' | 'policies'>;

/** Tools that the provider runs without asking are not offered while a policy could hold them. */
async function toolsOffered(parts: Offering, step: number): Promise<ToolDescription[]> {
  const { holdEverything, functions } = parts.policies;
  const isPoliced = (tool: Tool): boolean =>
    holdEverything ||
    (tool.requireApproval === undefined ? functions.length > 0 : tool.requireApproval !== false);
  const runsUnasked = ({ provider }: Tool): boolean => provider?.executed === true && !provider.asksFirst;
  return Promise.all(
    [...activeTools(parts, step).values()]
      .filter(({ tool }) => !(runsUnasked(tool) && isPoliced(tool)))
      .map(({ tool }) => describe(tool)),
  );
}

async function describe(tool: Tool): Promise<ToolDescription> {
  return {
    name: tool.id,
    description: tool.description,
    inputSchema: tool.provider ? {} : await tool.inputJsonSchema(),
    strict: tool.strict,
    providerOptions: tool.providerOptions,
    inputExamples: tool.inputExamples,
    provider: tool.provider?.tool,
  };
}

function toolChoiceOf({ options, tools }: Offering): ModelRequest['toolChoice'] {
  const choice = options.toolChoice;
  if (typeof choice !== 'object') return choice;
  const named = [...tools.values()].find(
    ({ tool, alias }) => choice.toolName === tool.id || choice.toolName === alias,
  );
  return { type: 'tool', toolName: named?.tool.id ?? choice.toolName };
}
