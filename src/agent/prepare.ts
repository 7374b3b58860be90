/**
 * Puts together what one leg needs: the agent's code as deployed now, the run's stored options, and what the leg's
 * caller passed. Nothing is carried over from another leg, so warm and cold are the same.
 */
import { RequestContext } from '../core/context.ts';
import { CountersignError } from '../core/errors.ts';
import type { RunStarted, StoredOptions } from '../core/event.ts';
import type { Parts } from '../core/parts.ts';
import { type Policies, policiesOf } from '../core/policy.ts';
import type { Schema } from '../core/schema.ts';
import type { Run } from '../core/state.ts';
import { isTool } from '../core/tool.ts';
import { messagesOf } from '../models/prompt.ts';
import { requestOf } from '../models/request.ts';
import { codeOf } from './agent-code.ts';
import { checkNewRunId, checkOptions, optionKeys } from './check-options.ts';
import { conversationOfLeg, type LegConversation, type Recalled } from './conversation.ts';
import { checkKeys } from './known-keys.ts';
import {
  defaults,
  type LegOptions,
  mergeOptions,
  type RunOptions,
  storedLegOptions,
  storedOptions,
} from './options.ts';
import { resumeTools } from './resume-tools.ts';
import type { KeptTrace } from './span.ts';
import { restoredContext, storableContext } from './stored-context.ts';
import { outputSchemaOf, schemaOfLeg } from './structured-output.ts';
import { type ToolsInput, twoOfOneName } from './tools.ts';
import { type AgentCore, subAgent } from './types.ts';
import type { Worker } from './worker.ts';

/** The options of a run: the agent's under those of the call, checked. */
export function optionsOfRun(agent: AgentCore, call: RunOptions): RunOptions {
  const options = mergeOptions({ durable: agent.config.durable, ...agent.defaultOptions }, call);
  checkOptions(options);
  checkNewRunId(options.runId);
  policiesOf([agent.defaultOptions.requireToolApproval, call.requireToolApproval]);
  return options;
}

/**
 * The first event of a run: what is kept of its options, and the names of what cannot be.
 * @param options what `optionsOfRun` made of those of the call.
 */
export async function startedEvent(
  agent: AgentCore,
  input: Pick<RunStarted, 'messages' | 'messageIds' | 'memory'>,
  options: RunOptions,
  call: RunOptions,
  facts: Pick<RunStarted, 'at' | 'threadId' | 'resourceId' | 'memory' | 'resumable' | keyof KeptTrace>,
): Promise<RunStarted> {
  const { stored, missing } = storableContext(contextOf(options.requestContext), secretKeysOf(agent));
  return {
    type: 'run-started',
    runId: options.runId ?? crypto.randomUUID(),
    agentId: agent.id,
    messageId: crypto.randomUUID(),
    options: {
      ...storedOptions({ ...options, ...holdOf(agent.defaultOptions, call) }),
      ...(await outputSchemaOf(options)),
    },
    context: stored,
    missing: [
      ...(typeof call.requireToolApproval === 'function' ? ['requireToolApproval'] : []),
      ...(call.hooks ? ['hooks'] : []),
      ...(call.delegation ? ['delegation'] : []),
      ...(call.model !== undefined && typeof call.model !== 'string' ? ['model'] : []),
      ...neededToolsets(options, call).map((name) => `toolsets.${name}`),
      ...missing.map((key) => `requestContext.${key}`),
    ],
    ...facts,
    ...input,
  };
}

/** The toolsets of the run's caller with a tool that the model may be offered. */
function neededToolsets({ activeTools }: RunOptions, { toolsets = {} }: RunOptions): string[] {
  const isActive = ([key, tool]: [string, ToolsInput[string]]): boolean =>
    activeTools === undefined || activeTools.includes(key) || (isTool(tool) && activeTools.includes(tool.id));
  return Object.entries(toolsets)
    .filter(([, tools]) => Object.entries(tools).some(isActive))
    .map(([name]) => name);
}

/** The keys that the agent or one below it never wants stored. Agents that a function gives are not known here. */
function secretKeysOf({ secretContext, config }: AgentCore): string[] {
  const agents = typeof config.agents === 'function' ? {} : (config.agents ?? {});
  return [
    ...secretContext,
    ...Object.values(agents).flatMap((below) => (below ? secretKeysOf(below[subAgent]) : [])),
  ];
}

/** `true` anywhere stays true: a hold is never lowered by another policy. */
function holdOf(base: RunOptions, call: RunOptions): Pick<RunOptions, 'requireToolApproval'> {
  const words = [base.requireToolApproval, call.requireToolApproval];
  return { requireToolApproval: words.includes(true) ? true : words.find((word) => word === false) };
}

/** All that a leg brings, but the name under which it acts. */
export interface LegParts extends Omit<Parts, 'me'>, Pick<LegConversation, 'elsewhere'> {
  /** By which the answer is read as an object. */
  readonly answerSchema: Schema | undefined;
}

/**
 * The parts of a leg.
 * @param first the leg that began the run; every other one must bring what could not be stored.
 * @param recalled what the first leg has read of its thread.
 * @throws `option-missing` naming what must be passed again.
 */
export async function partsOf(
  agent: AgentCore,
  worker: Worker,
  run: Pick<Run, 'started' | 'calls'>,
  call: LegOptions,
  first: boolean,
  recalled?: Recalled,
): Promise<LegParts> {
  const { started } = run;
  const { runId } = started;
  // Of a decision, `memory` only says whose run it must be.
  if (!first) checkOptions({ ...call, memory: undefined } as RunOptions);
  const leg = first ? call : await supplied(agent, started, call);
  const requestContext = first
    ? contextOf(mergeOptions(agent.defaultOptions, leg).requestContext)
    : restoredContext(started.context, contextKeys(started), leg.requestContext, runId);
  if (!first) refuseMissing(started, leg, requestContext);
  const context = (): RequestContext => copyOf(requestContext);
  const options: StoredOptions = first
    ? started.options
    : { ...started.options, ...storedLegOptions(leg), ...(await outputSchemaOf(leg)) };
  const code = await codeOf(agent, context, options, leg);
  for (const named of resumeTools(agent, started, leg)) {
    const { id } = named.tool;
    if (code.tools.has(id)) throw twoOfOneName(id, agent.id, ['its tools', 'what waits in its thread']);
    code.tools.set(id, named);
  }
  const conversation = await conversationOfLeg(agent, worker, run, context, recalled);
  const parts: LegParts = {
    ...conversation,
    messagesOf: (own) => messagesOf(own, conversation.history),
    requestOf: (own) => requestOf(own, parts),
    ...code,
    answerSchema: await schemaOfLeg(leg.structuredOutput, agent.defaultOptions.structuredOutput, started),
    policies: legPolicies(agent, started, leg, worker, first),
    context,
    clock: worker.clock,
    limits: { ...defaults.limits, ...agent.binding().limits },
    sha256: worker.sha256,
    mayBegin: worker.mayBegin,
    noteBegun: worker.noteBegun,
    warn: worker.warn,
  };
  return parts;
}

/** What the registry can supply of what the caller left out. */
async function supplied(agent: AgentCore, started: RunStarted, call: LegOptions): Promise<LegOptions> {
  const { supply } = agent.binding();
  const missing = missingIn(started, call, call.requestContext);
  if (!supply || missing.length === 0) return call;
  const { runId, agentId, resourceId } = started;
  const extra = await supply({ agentId, runId, resourceId, missing });
  checkKeys(extra, optionKeys.leg, 'what supply gave');
  checkOptions(extra);
  const requestContext = new RequestContext([
    ...(extra.requestContext?.entries() ?? []),
    ...(call.requestContext?.entries() ?? []),
  ]);
  const toolsets = { ...extra.toolsets, ...call.toolsets };
  return { ...extra, ...mergeOptions({}, call), toolsets, requestContext };
}

export const contextKeys = ({ missing }: RunStarted): string[] =>
  missing
    .filter((name) => name.startsWith('requestContext.'))
    .map((name) => name.slice('requestContext.'.length));

function missingIn(started: RunStarted, leg: LegOptions, context: RequestContext | undefined): string[] {
  return started.missing.filter((name) => {
    if (name === 'requireToolApproval')
      return typeof leg.requireToolApproval !== 'function' && leg.requireToolApproval !== true;
    if (name === 'hooks' || name === 'delegation') return leg[name] === undefined;
    if (name === 'model') return leg.model === undefined;
    if (name.startsWith('toolsets.'))
      return !Object.hasOwn(leg.toolsets ?? {}, name.slice('toolsets.'.length));
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

export function contextOf(given: RequestContext | undefined): RequestContext {
  return given ? copyOf(given) : new RequestContext();
}

function copyOf(context: RequestContext): RequestContext {
  const copy = new RequestContext();
  for (const [key, value] of context.entries()) {
    copy.set(key, value, { secret: typeof context.isSecret === 'function' && context.isSecret(key) });
  }
  return copy;
}
