/**
 * Puts together what one leg needs: the agent's code as deployed now, the run's stored options, and what the leg's
 * caller passed. Nothing is carried over from another leg, so warm and cold are the same.
 */
import type { Tool as AiSdkTool } from 'ai';
import { RequestContext } from '../core/context.ts';
import { CountersignError } from '../core/errors.ts';
import type { RunStarted, StoredOptions } from '../core/event.ts';
import type { Message } from '../core/message.ts';
import type { NamedTool, Parts, ToolHooks } from '../core/parts.ts';
import { type Policies, policiesOf } from '../core/policy.ts';
import { isTool } from '../core/tool.ts';
import { toolFromAiSdk } from '../models/ai-sdk-tool.ts';
import { delegationTool } from '../team/delegation.ts';
import type { DelegationOptions } from '../team/delegation-hooks.ts';
import {
  checkNewRunId,
  checkOptions,
  conversationOf,
  defaults,
  type LegOptions,
  mergeOptions,
  type RunOptions,
  storedLegOptions,
  storedOptions,
} from './options.ts';
import { restoredContext, storableContext } from './stored-context.ts';
import { type AgentCore, type AgentsInput, type Dynamic, subAgent, type ToolsInput } from './types.ts';
import type { Worker } from './worker.ts';

/** The first event of a run: what is kept of its options, and the names of what cannot be. */
export function startedEvent(
  agent: AgentCore,
  messages: Message[],
  call: RunOptions,
  worker: Worker,
): RunStarted {
  const options = mergeOptions({ durable: agent.config.durable, ...agent.defaultOptions }, call);
  checkOptions(options);
  checkNewRunId(options.runId);
  policiesOf([agent.defaultOptions.requireToolApproval, call.requireToolApproval]);
  const { stored, missing } = storableContext(contextOf(options.requestContext), secretKeysOf(agent));
  return {
    type: 'run-started',
    runId: options.runId ?? crypto.randomUUID(),
    at: worker.clock.now(),
    agentId: agent.id,
    messageId: crypto.randomUUID(),
    messages,
    options: storedOptions({ ...options, ...holdOf(agent.defaultOptions, call) }),
    context: stored,
    missing: [
      ...(typeof call.requireToolApproval === 'function' ? ['requireToolApproval'] : []),
      ...(call.hooks ? ['hooks'] : []),
      ...(call.delegation ? ['delegation'] : []),
      ...(call.model !== undefined && typeof call.model !== 'string' ? ['model'] : []),
      ...missing.map((key) => `requestContext.${key}`),
    ],
    ...conversationOf(options),
  };
}

/** The keys that the agent or one below it never wants stored. Agents that a function gives are not known here. */
function secretKeysOf({ secretContext, config }: AgentCore): string[] {
  const agents = typeof config.agents === 'function' ? {} : (config.agents ?? {});
  return [...secretContext, ...Object.values(agents).flatMap((below) => secretKeysOf(below[subAgent]))];
}

/** `true` anywhere stays true: a hold is never lowered by another policy. */
function holdOf(base: RunOptions, call: RunOptions): Pick<RunOptions, 'requireToolApproval'> {
  const words = [base.requireToolApproval, call.requireToolApproval];
  return { requireToolApproval: words.includes(true) ? true : words.find((word) => word === false) };
}

/** All that a leg brings, but the name under which it acts. */
export type LegParts = Omit<Parts, 'me'>;

/**
 * The parts of a leg.
 * @param first the leg that began the run; every other one must bring what could not be stored.
 * @throws `option-missing` naming what must be passed again.
 */
export async function partsOf(
  agent: AgentCore,
  worker: Worker,
  started: RunStarted,
  call: LegOptions,
  first: boolean,
): Promise<LegParts> {
  const { runId } = started;
  if (!first) checkOptions(call);
  const leg = first ? call : await supplied(agent, started, call);
  const requestContext = first
    ? contextOf(mergeOptions(agent.defaultOptions, leg).requestContext)
    : restoredContext(started.context, contextKeys(started), leg.requestContext, runId);
  if (!first) refuseMissing(started, leg, requestContext);
  const context = (): RequestContext => copyOf(requestContext);
  const options: StoredOptions = first ? started.options : { ...started.options, ...storedLegOptions(leg) };
  return {
    ...(await codeOf(agent, { context, options, leg })),
    policies: legPolicies(agent, started, leg, worker, first),
    context,
    clock: worker.clock,
    limits: { ...defaults.limits, ...agent.binding().limits },
    sha256: worker.sha256,
    mayBegin: worker.mayBegin,
    noteBegun: worker.noteBegun,
    warn: worker.warn,
  };
}

/** The agent's code as deployed now, for a run with these options. */
async function codeOf(
  agent: AgentCore,
  given: {
    readonly context: () => RequestContext;
    readonly options: StoredOptions;
    /** What the caller of the leg passed for the run at the top: its hooks also apply to the runs below. */
    readonly leg: Pick<LegOptions, 'model' | 'hooks' | 'delegation'>;
  },
): Promise<Pick<Parts, 'model' | 'tools' | 'instructions' | 'options' | 'hooks' | 'workspace'>> {
  const { context, options, leg } = given;
  const { instructions, tools, agents, model, hooks, workspace } = agent.config;
  const own = namedTools(await toolsFor(tools, context()), agent);
  const delegation = { ...agent.defaultOptions.delegation, ...leg.delegation };
  const below = await toolsFor(agents, context());
  return {
    model: agent.model(leg.model ?? options.model ?? (await resolve(model, context()))),
    tools: withDelegations(own, delegationTools(below, agent, delegation, leg), agent),
    instructions:
      options.instructions ??
      (instructions === undefined ? undefined : await resolve(instructions, context())),
    options,
    hooks: [hooks, agent.defaultOptions.hooks, leg.hooks].filter((one): one is ToolHooks => !!one),
    workspace,
  };
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
  const code = await codeOf(agent, { context, options, leg: { hooks } });
  const own = policiesOf([agent.defaultOptions.requireToolApproval, options.requireToolApproval]);
  return {
    ...parent,
    ...code,
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
}

/**
 * The tools by which an agent delegates.
 * @throws `invalid-agent` for something that is no agent.
 */
export function delegationTools(
  agents: AgentsInput,
  agent: { readonly id: string },
  delegation: DelegationOptions = {},
  leg: Pick<LegOptions, 'hooks'> = {},
): Map<string, NamedTool> {
  const named = Object.entries(agents).map(([key, given]): [string, NamedTool] => {
    const below = given?.[subAgent];
    if (below === undefined) {
      throw new CountersignError('invalid-agent', `"${key}" in the agents of "${agent.id}" is no agent.`, {
        agentId: agent.id,
        expected: '{ key: new Agent({ id, … }), … }',
      });
    }
    const tool = delegationTool(
      key,
      {
        id: below.id,
        name: below.name,
        description: below.config.description,
        options: storedOptions(below.defaultOptions),
        partsOf: (child, parent) => partsBelow(below, child, parent, leg.hooks),
      },
      delegation,
    );
    return [tool.tool.id, tool];
  });
  return new Map(named);
}

/** What the registry can supply of what the caller left out. */
async function supplied(agent: AgentCore, started: RunStarted, call: LegOptions): Promise<LegOptions> {
  const { supply } = agent.binding();
  const missing = missingIn(started, call, call.requestContext);
  if (!supply || missing.length === 0) return call;
  const { runId, agentId, resourceId } = started;
  const extra = await supply({ agentId, runId, resourceId, missing });
  const requestContext = new RequestContext([
    ...(extra.requestContext?.entries() ?? []),
    ...(call.requestContext?.entries() ?? []),
  ]);
  return { ...extra, ...mergeOptions({}, call), requestContext };
}

const contextKeys = ({ missing }: RunStarted): string[] =>
  missing
    .filter((name) => name.startsWith('requestContext.'))
    .map((name) => name.slice('requestContext.'.length));

function missingIn(started: RunStarted, leg: LegOptions, context: RequestContext | undefined): string[] {
  return started.missing.filter((name) => {
    if (name === 'requireToolApproval')
      return typeof leg.requireToolApproval !== 'function' && leg.requireToolApproval !== true;
    if (name === 'hooks' || name === 'delegation') return leg[name] === undefined;
    if (name === 'model') return leg.model === undefined;
    return !context?.has(name.slice('requestContext.'.length));
  });
}

function refuseMissing(started: RunStarted, leg: LegOptions, context: RequestContext): void {
  const missing = missingIn(started, leg, context).filter((name) => name !== 'requireToolApproval');
  if (missing.length === 0) return;
  throw new CountersignError(
    'option-missing',
    `This run needs what could not be stored: ${missing.join(', ')}.`,
    {
      runId: started.runId,
      agentId: started.agentId,
      missing,
      todo: 'Pass it again with the decision, or let the registry supply it. Nothing was decided.',
    },
  );
}

function legPolicies(
  agent: AgentCore,
  started: RunStarted,
  leg: LegOptions,
  worker: Worker,
  first: boolean,
): Policies {
  const policies = policiesOf([
    agent.defaultOptions.requireToolApproval,
    started.options.requireToolApproval,
    leg.requireToolApproval,
  ]);
  // A durable run stores its options, and a function cannot be stored (specification: conditional approval).
  if (started.options.durable && policies.functions.length > 0) return { ...policies, holdEverything: true };
  if (first || !missingIn(started, leg, undefined).includes('requireToolApproval')) return policies;
  worker.warn(
    `Run ${started.runId}: its requireToolApproval function could not be stored and was not passed again, ` +
      'so every later call of this run is held.',
  );
  return { ...policies, holdEverything: true };
}

function contextOf(given: RequestContext | undefined): RequestContext {
  return given ? copyOf(given) : new RequestContext();
}

function copyOf(context: RequestContext): RequestContext {
  const copy = new RequestContext();
  for (const [key, value] of context.entries()) {
    copy.set(key, value, { secret: typeof context.isSecret === 'function' && context.isSecret(key) });
  }
  return copy;
}

/** A record of tools or agents. */
async function toolsFor<Given extends ToolsInput | AgentsInput>(
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

/**
 * The tools by id, AI SDK tools wrapped once.
 * @throws `invalid-tool` for something that is none, and for two of one name.
 */
export function namedTools(tools: ToolsInput, agent: { readonly id: string }): Map<string, NamedTool> {
  const named = new Map<string, NamedTool>();
  for (const [alias, given] of Object.entries(tools)) {
    const tool = isTool(given) ? given : toolFromAiSdk(alias, given as AiSdkTool);
    if (named.has(tool.id)) throw twoOfOneName(agent, tool.id);
    named.set(tool.id, { tool, alias });
  }
  return named;
}

/** An agent's own tools and those by which it delegates. @throws `invalid-tool` for two of one name. */
export function withDelegations(
  own: ReadonlyMap<string, NamedTool>,
  delegations: ReadonlyMap<string, NamedTool>,
  agent: { readonly id: string },
): Map<string, NamedTool> {
  for (const id of delegations.keys()) if (own.has(id)) throw twoOfOneName(agent, id);
  return new Map([...own, ...delegations]);
}

function twoOfOneName(agent: { readonly id: string }, toolName: string): CountersignError {
  return new CountersignError('invalid-tool', `Two tools of agent "${agent.id}" are called "${toolName}".`, {
    agentId: agent.id,
    toolName,
    expected: 'an id that no other tool of the agent has',
  });
}
