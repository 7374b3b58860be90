/** An agent's code as deployed now, for one leg of a run of it: its own, or one below the run of a supervisor. */
import type { RequestContext } from '../core/context.ts';
import { CountersignError } from '../core/errors.ts';
import type { RunStarted, StoredOptions } from '../core/event.ts';
import type { NamedTool, Parts, ToolHooks } from '../core/parts.ts';
import { policiesOf } from '../core/policy.ts';
import { messagesOf } from '../models/prompt.ts';
import { requestOf } from '../models/request.ts';
import { delegationTool } from '../team/delegation.ts';
import { type DelegationOptions, hasBailed } from '../team/delegation-hooks.ts';
import { type LegOptions, storedOptions } from './options.ts';
import { stopperOf } from './stop-when.ts';
import { outputSchemaOf } from './structured-output.ts';
import { namedTools, type ToolsInput, twoOfOneName } from './tools.ts';
import { type AgentCore, type AgentsInput, type Dynamic, subAgent } from './types.ts';

/** What the caller of the leg passed for the run at the top: its hooks also apply to the runs below. */
type FromCaller = Pick<LegOptions, 'model' | 'hooks' | 'delegation' | 'toolsets' | 'stopWhen'>;

interface Code
  extends Pick<Parts, 'model' | 'instructions' | 'options' | 'hooks' | 'workspace' | 'shouldStop'> {
  readonly tools: Map<string, NamedTool>;
}

/** @param options what is stored of the run's options, with those of the leg. */
export async function codeOf(
  agent: AgentCore,
  context: () => RequestContext,
  options: StoredOptions,
  leg: FromCaller,
): Promise<Code> {
  const { instructions, model, hooks, workspace } = agent.config;
  const { defaultOptions } = agent;
  let bailed = false;
  const bail = (): void => {
    bailed = true;
  };
  return {
    model: agent.model(
      leg.model ?? options.model ?? defaultOptions.model ?? (await resolve(model, context())),
    ),
    tools: await toolsOf(agent, context, leg, bail),
    instructions:
      options.instructions ??
      (instructions === undefined ? undefined : await resolve(instructions, context())),
    options,
    shouldStop: withBail(
      stopperOf(leg.stopWhen ?? defaultOptions.stopWhen),
      delegationOf(agent, leg),
      () => bailed,
    ),
    hooks: [hooks, defaultOptions.hooks, leg.hooks].filter((one): one is ToolHooks => !!one),
    workspace,
  };
}

/** All tools of a leg, by name: its agent's own, those of toolsets, and those by which it delegates. */
export async function toolsOf(
  agent: AgentCore,
  context: () => RequestContext,
  leg: FromCaller,
  bail?: () => void,
): Promise<Map<string, NamedTool>> {
  const { tools, agents } = agent.config;
  const toolsets = { ...agent.defaultOptions.toolsets, ...leg.toolsets };
  const own = namedTools(await recordOf(tools, context()), agent, toolsets);
  const below = await recordOf(agents, context());
  return withDelegations(
    own,
    delegationTools(below, agent, delegationOf(agent, leg), leg.hooks, bail),
    agent,
  );
}

function delegationOf({ defaultOptions }: AgentCore, { delegation }: FromCaller): DelegationOptions {
  return { ...defaultOptions.delegation, ...delegation };
}

/**
 * The condition to stop, where a hook of a delegation may bail out.
 * @param bailedHere also of a delegation that failed, whose result has no word of it.
 */
function withBail(
  stopper: Parts['shouldStop'],
  { onDelegationComplete }: DelegationOptions,
  bailedHere: () => boolean,
): Parts['shouldStop'] {
  if (!onDelegationComplete) return stopper;
  return async (run) => bailedHere() || hasBailed(run) || ((await stopper?.(run)) ?? false);
}

/** What a run of a sub-agent needs: its own code, and from above the request, its policies and its run hooks. */
async function partsBelow(
  agent: AgentCore,
  started: RunStarted,
  parent: Parts,
  hooks: ToolHooks | undefined,
): Promise<Parts> {
  const { context, policies } = parent;
  const { options, addedInstructions } = started;
  const code = await codeOf(agent, context, options, { hooks });
  const own = policiesOf([agent.defaultOptions.requireToolApproval, options.requireToolApproval]);
  const parts: Parts = {
    ...parent,
    ...code,
    history: [],
    messagesOf,
    requestOf: (run) => requestOf(run, parts),
    instructions: [code.instructions, addedInstructions].filter(Boolean).join('\n\n') || undefined,
    workspace: code.workspace ?? parent.workspace,
    policies: {
      holdEverything:
        policies.holdEverything ||
        own.holdEverything ||
        (parent.options.durable === true && own.functions.length > 0),
      functions: [...policies.functions, ...own.functions],
    },
  };
  return parts;
}

/**
 * The tools by which an agent delegates.
 * @param hooks of the run at the top.
 * @throws `invalid-agent` for something that is no agent.
 */
export function delegationTools(
  agents: AgentsInput,
  agent: { readonly id: string },
  delegation: DelegationOptions = {},
  hooks: ToolHooks | undefined = undefined,
  bail: () => void = () => {},
): Map<string, NamedTool> {
  const named = Object.entries(agents).map(([key, given]): [string, NamedTool] => {
    const below = given?.[subAgent];
    if (below === undefined) {
      throw new CountersignError('invalid-agent', `"${key}" in the agents of "${agent.id}" is no agent.`, {
        agentId: agent.id,
        expected: '{ key: new Agent({ id, … }), … }',
      });
    }
    const { id, name, defaultOptions, config } = below;
    const tool = delegationTool(
      key,
      {
        id,
        name,
        description: config.description,
        options: async () => ({
          ...storedOptions(defaultOptions),
          ...(await outputSchemaOf(defaultOptions)),
        }),
        partsOf: (child, parent) => partsBelow(below, child, parent, hooks),
      },
      delegation,
      bail,
    );
    return [tool.tool.id, tool];
  });
  return new Map(named);
}

/** An agent's own tools and those by which it delegates. @throws `invalid-tool` for two of one name. */
export function withDelegations(
  own: ReadonlyMap<string, NamedTool>,
  delegations: ReadonlyMap<string, NamedTool>,
  agent: { readonly id: string },
): Map<string, NamedTool> {
  for (const id of delegations.keys()) {
    if (own.has(id)) throw twoOfOneName(id, agent.id, ['its tools', 'its agents']);
  }
  return new Map([...own, ...delegations]);
}

/** A record of tools or agents; what a function leaves out is not offered. */
async function recordOf<Given extends ToolsInput | AgentsInput>(
  given: Dynamic<Given> | undefined,
  requestContext: RequestContext,
): Promise<Given> {
  if (typeof given !== 'function') return given ?? ({} as Given);
  const chosen = await resolve(given, requestContext);
  return Object.fromEntries(Object.entries(chosen).filter(([, one]) => one !== undefined)) as Given;
}

async function resolve<T>(value: Dynamic<T>, requestContext: RequestContext): Promise<T> {
  return typeof value === 'function'
    ? await (value as (given: { requestContext: RequestContext }) => T | Promise<T>)({ requestContext })
    : value;
}
