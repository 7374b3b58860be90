/**
 * Owns how a supervisor delegates: each sub-agent is a tool `agent-<key>`, and a call of it is carried out by a run
 * of the sub-agent below the supervisor's run, in the same log.
 */
import { childIdOf } from '../core/below.ts';
import type { RunStarted, StoredOptions } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { Delegate, Execution, NamedTool, Parts } from '../core/parts.ts';
import type { Schema } from '../core/schema.ts';
import type { Run } from '../core/state.ts';
import { toolOf } from '../core/tool.ts';
import { toMessages } from '../models/to-messages.ts';
import { completed, type DelegationOptions, type DelegationResult, started } from './delegation-hooks.ts';

/** What a delegation needs to know of a sub-agent. */
export interface SubAgent {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  /** The options of its runs that are stored. */
  options(): Promise<StoredOptions>;
  /** What a run of it needs here. */
  partsOf(child: RunStarted, parent: Parts): Promise<Parts>;
}

/** What the model of the supervisor writes. */
export interface DelegationInput {
  readonly prompt: string;
  readonly instructions?: string | undefined;
  readonly maxSteps?: number | undefined;
}

/**
 * The tool by which an agent delegates to a sub-agent, for one leg.
 * @param bail what the complete hook may ask for.
 * @throws `invalid-tool` for a key that providers refuse.
 */
export function delegationTool(
  key: string,
  agent: SubAgent,
  options: DelegationOptions = {},
  bail: () => void = () => {},
): NamedTool {
  const includesResults = options.includeSubAgentToolResultsInModelContext === true;
  const tool = toolOf({
    id: `agent-${key}`,
    description: agent.description ?? `Delegates a task to the agent "${agent.name}".`,
    inputSchema,
    // A run below is never lost: whoever takes the delegation over goes on with it.
    idempotent: true,
    execute: () => Promise.reject(new Error('A delegation is carried out by a run of its own.')),
    toModelOutput(output) {
      const { text, finishReason, feedback, subAgentToolResults } = output as DelegationResult;
      const said = [
        text,
        // Stopped after its calls, as somebody wanted it, is not cut short.
        ...(finishReason === undefined || finishReason === 'tool-calls'
          ? []
          : [`Cut short: ${finishReason}`]),
        ...(feedback === undefined ? [] : [`Feedback: ${feedback}`]),
      ].join('\n\n');
      return includesResults && subAgentToolResults
        ? { type: 'json', value: { text: said, toolResults: subAgentToolResults as never } }
        : { type: 'text', value: said };
    },
  });
  return { tool, alias: key, delegate: delegateTo(key, agent, options, bail) };
}

function delegateTo(key: string, agent: SubAgent, options: DelegationOptions, bail: () => void): Delegate {
  const prepared = new Map<string, Promise<Parts>>();
  return {
    async begin(execution, input) {
      const given = input as DelegationInput;
      const stored = await agent.options();
      // A model may ask for fewer model calls than the agent has, not for more.
      const maxSteps = given.maxSteps && Math.min(given.maxSteps, stored.maxSteps);
      const begun = await started(options, { key, execution, ...given, maxSteps });
      if ('rejected' in begun) return { output: { text: begun.rejected } satisfies DelegationResult };
      return startedEvent(agent, execution, begun, {
        ...stored,
        maxSteps: begun.maxSteps ?? stored.maxSteps,
      });
    },
    async partsOf(child, parent) {
      const parts = prepared.get(child.runId) ?? agent.partsOf(child, parent);
      prepared.set(child.runId, parts);
      return { ...(await parts), me: parent.me };
    },
    async result(execution, child) {
      const { prompt } = execution.call.args as unknown as DelegationInput;
      const withResults = options.includeSubAgentToolResultsInModelContext === true;
      return completed(options, { key, execution, prompt, child, bail }, () => resultOf(child, withResults));
    },
  };
}

function startedEvent(
  agent: SubAgent,
  { run, call, parts }: Execution,
  begun: DelegationInput & { readonly messages: readonly Message[] },
  options: StoredOptions,
): RunStarted {
  const { runId, threadId, resourceId } = run.started;
  const { prompt, instructions, messages } = begun;
  const { durable: _durable, ...ownOptions } = options;
  return {
    type: 'run-started',
    runId: childIdOf(runId, call.toolCallId),
    at: parts.clock.now(),
    agentId: agent.id,
    messageId: crypto.randomUUID(),
    messages: [...messages, ...toMessages(prompt)],
    options: {
      ...ownOptions,
      // The log is the root's, and so is the word on how it is kept.
      ...(run.started.options.durable ? { durable: true } : {}),
    },
    context: {},
    missing: [],
    ...(threadId === undefined ? {} : { threadId }),
    ...(resourceId === undefined ? {} : { resourceId }),
    ...(instructions === undefined ? {} : { addedInstructions: instructions }),
  };
}

/** What the run below came to. @throws when it failed or was cancelled: then the delegation has failed. */
function resultOf(child: Run, withResults: boolean): DelegationResult {
  const { outcome } = child;
  if (outcome?.status !== 'finished') {
    throw new Error(outcome?.error?.message ?? `The run of "${child.started.agentId}" was cancelled.`);
  }
  const answers = withResults ? { subAgentToolResults: toolResults(child) } : {};
  const cut = outcome.finishReason === 'stop' ? {} : { finishReason: outcome.finishReason };
  return { text: outcome.text, ...cut, ...answers };
}

function toolResults(child: Run): NonNullable<DelegationResult['subAgentToolResults']> {
  return [...child.calls.values()].flatMap(({ state, toolCallId, toolName, args, result }) =>
    state === 'finished' ? [{ toolCallId, toolName, args, result: result ?? null }] : [],
  );
}

const jsonSchema: JsonObject = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The task, with all that the agent needs to know.' },
    instructions: { type: 'string', description: 'How to go about it, beside what the agent knows.' },
    maxSteps: { type: 'integer', minimum: 1, description: 'The most model calls that it may take.' },
  },
  required: ['prompt'],
  additionalProperties: false,
};

const inputSchema: Schema<DelegationInput> = {
  _type: undefined as never,
  jsonSchema,
  validate(value: unknown) {
    const { prompt, instructions, maxSteps, ...others } = value as Record<string, unknown>;
    const problems = [
      ...(typeof prompt === 'string' ? [] : ['prompt: a string is expected']),
      ...(instructions === undefined || typeof instructions === 'string'
        ? []
        : ['instructions: a string is expected']),
      ...(maxSteps === undefined || (Number.isInteger(maxSteps) && (maxSteps as number) >= 1)
        ? []
        : ['maxSteps: a whole number from 1 is expected']),
      ...Object.keys(others).map((name) => `${name}: there is no such field`),
    ];
    return problems.length === 0
      ? { success: true, value }
      : { success: false, error: new Error(problems.join('; ')) };
  },
};
