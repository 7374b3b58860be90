/**
 * Owns what OpenTelemetry is told of runs: which spans there are, and their attributes, by the names of its conventions
 * for generative AI. Never an argument, a result, a text or a person.
 */
import type { Found } from '../core/below.ts';
import type { CallDecided, RunStarted } from '../core/event.ts';
import type { Model, ModelResponse } from '../core/model.ts';
import { headOf, stalledRuns } from '../core/next.ts';
import { lastStep, type Run } from '../core/state.ts';
import type { ToolContext } from '../core/tool.ts';
import { checkKeys } from './known-keys.ts';
import type { OpenTelemetry, TelemetryOptions } from './opentelemetry.ts';
import { refuseOption } from './refuse-option.ts';
import { type Facts, quietly, spanAfter, spanHere, type TracedSpan } from './span.ts';
import type { AgentCore } from './types.ts';

/** @throws `invalid-option`. */
export function checkTelemetry(telemetry: TelemetryOptions): void {
  checkKeys(telemetry, { opentelemetry: true }, 'telemetry');
  const { trace, context, propagation } = (telemetry.opentelemetry ?? {}) as Partial<OpenTelemetry>;
  if (trace && context && propagation) return;
  refuseOption('telemetry', "{ opentelemetry }, after import * as opentelemetry from '@opentelemetry/api'");
}

/** Who is told of the runs of an agent, if anybody is. */
export function telemetryOf({ config, binding }: AgentCore): OpenTelemetry | undefined {
  return (config.telemetry ?? binding().telemetry)?.opentelemetry;
}

type Started = Pick<RunStarted, 'runId' | 'agentId' | 'threadId' | 'traceparent' | 'tracestate'>;

/** The first leg of a run, from before its first event is made: that keeps the trace. */
export function firstSpan(agent: AgentCore): TracedSpan | undefined {
  const api = telemetryOf(agent);
  return api && spanHere(api, ...agentFacts(agent));
}

/** A later leg. */
export function laterSpan(agent: AgentCore, started: Started): TracedSpan | undefined {
  const api = telemetryOf(agent);
  return api && spanAfter(api, started, ...agentFacts(named(agent, started)));
}

/** The run of a sub-agent, as far as one leg moves it. */
export function spanBelow(above: TracedSpan, agent: AgentCore, child: Started): TracedSpan {
  const [name, { attributes }] = agentFacts(named(agent, child));
  const toolCallId = child.runId.slice(child.runId.lastIndexOf('~') + 1);
  return above.below(name, {
    attributes: { ...attributes, 'gen_ai.tool.call.id': toolCallId, ...runFacts(child) },
  });
}

/** The agent of a run that this one moves: itself, another of its registry, or one that is known by its id alone. */
function named(agent: AgentCore, { agentId }: Started): { readonly id: string; readonly name: string } {
  return agent.binding().agentOf(agentId) ?? { id: agentId, name: agentId };
}

function agentFacts({ id, name }: { readonly id: string; readonly name: string }): [string, Facts] {
  return [
    `invoke_agent ${name}`,
    {
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': id,
        'gen_ai.agent.name': name,
      },
    },
  ];
}

/** What is known of a run when it has begun. */
export function runFacts({ runId, threadId }: Pick<Started, 'runId' | 'threadId'>): Facts['attributes'] {
  return { 'gen_ai.conversation.id': threadId, 'countersign.run.id': runId };
}

/** Ends the span of a leg, with where it leaves the run. */
export function endLegSpan(span: TracedSpan, run: Run): void {
  const { outcome } = run;
  const [stalled] = stalledRuns(run);
  span.note({
    'countersign.run.state': outcome?.status ?? (stalled ? 'stalled' : headOf(run)),
    'gen_ai.response.finish_reasons': outcome && [outcome.finishReason],
  });
  span.end(outcome ? outcome.error?.code : stalled && lastStep(stalled)?.error?.code);
}

/** Which model is asked, and whose it is. */
export function modelFacts({ modelId, provider }: Model): Facts['attributes'] {
  const prefix = `${provider}/`;
  return {
    'gen_ai.provider.name': provider && providerName(provider),
    'gen_ai.request.model': modelId.startsWith(prefix) ? modelId.slice(prefix.length) : modelId,
  };
}

/** A model call. */
export function stepSpan(run: TracedSpan, started: Started, model: Model): TracedSpan {
  const facts = modelFacts(model);
  return run.below(`chat ${facts['gen_ai.request.model']}`, {
    isClient: true,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.agent.id': started.agentId,
      ...facts,
      ...runFacts(started),
    },
  });
}

export function responseFacts({ finishReason, usage, response }: ModelResponse): Facts['attributes'] {
  const { id, modelId } = response ?? {};
  return {
    'gen_ai.response.finish_reasons': [finishReason],
    'gen_ai.response.id': typeof id === 'string' ? id : undefined,
    'gen_ai.response.model': typeof modelId === 'string' ? modelId : undefined,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
  };
}

/** Where the conventions call a provider by another name than the AI SDK does. */
const providerNames: readonly (readonly [RegExp, string])[] = [
  [/^amazon-bedrock/, 'aws.bedrock'],
  [/^azure/, 'azure.ai.openai'],
  [/^google[.-]vertex/, 'gcp.vertex_ai'],
  [/^google/, 'gcp.gemini'],
  [/^mistral/, 'mistral_ai'],
  [/^xai/, 'x_ai'],
];

/** @param provider as the AI SDK has it: `openai`, or `openai.responses`. */
function providerName(provider: string): string | undefined {
  return providerNames.find(([pattern]) => pattern.test(provider))?.[1] ?? provider.split('.')[0];
}

/** One entry of `execute`. */
export function toolSpan(
  run: TracedSpan,
  toolName: string,
  { runId, toolCallId, agent }: ToolContext,
): TracedSpan {
  return run.below(`execute_tool ${toolName}`, {
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': toolName,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': toolCallId,
      'gen_ai.agent.id': agent.agentId,
      ...runFacts({ runId, ...(agent.threadId === undefined ? {} : { threadId: agent.threadId }) }),
    },
  });
}

/**
 * A decision that was accepted, and the wait that it ends: a span from when the call stopped to when it was decided.
 * @param before the call as it waited.
 * @param began when the decision was asked for.
 */
export function traceDecision(
  api: OpenTelemetry | undefined,
  root: Started,
  { id, call }: Found,
  { at, stop, verdict }: CallDecided,
  began: number,
): void {
  if (api === undefined) return;
  const attributes = {
    'gen_ai.tool.name': call.toolName,
    'gen_ai.tool.call.id': id,
    'countersign.stop': stop,
    'countersign.call.state': call.state,
    ...runFacts(root),
  };
  const { toolName } = call;
  spanAfter(api, root, `wait ${toolName}`, { attributes, startedAt: call.since }).end(undefined, at);
  const decided = {
    attributes: { ...attributes, 'countersign.decision.verdict': verdict },
    startedAt: began,
  };
  spanAfter(api, root, `decide ${toolName}`, decided).end();
}

/** What a request is answered in: a span that is current already, or the caller's, if its headers name one. */
export function withinCaller<T>(
  { trace, context, propagation }: OpenTelemetry,
  headers: Headers,
  work: () => T,
): T {
  const caller = quietly(() => {
    const here = context.active();
    return trace.getSpanContext(here) ? undefined : propagation.extract(here, headers, headerReader);
  }, undefined);
  return caller === undefined ? work() : context.with(caller, work);
}

const headerReader = {
  get: (headers: Headers, name: string): string | undefined => headers.get(name) ?? undefined,
  keys: (headers: Headers): string[] => [...headers.keys()],
};
