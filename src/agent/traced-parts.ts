/** Lets what a leg performs be done in spans: model calls, tools, and the runs of sub-agents. */
import { findRun } from '../core/below.ts';
import type { RunStarted } from '../core/event.ts';
import { isAsyncIterable } from '../core/execute.ts';
import type { Model } from '../core/model.ts';
import type { Delegate, NamedTool, Parts } from '../core/parts.ts';
import type { Run } from '../core/state.ts';
import type { Tool } from '../core/tool.ts';
import type { TracedSpan } from './span.ts';
import {
  endLegSpan,
  laterSpan,
  modelFacts,
  responseFacts,
  runFacts,
  spanBelow,
  stepSpan,
  toolSpan,
} from './telemetry.ts';
import type { AgentCore } from './types.ts';

interface TracedLeg {
  readonly parts: Parts;
  within<T>(work: () => T): T;
  /** Ends the span of the leg, and those of the runs below that it leaves open. */
  end(root: Run, failure?: unknown): void;
}

/** @param begun the span in which the run began; left out, a span of a later leg is begun, if anybody is told. */
export function traced(
  agent: AgentCore,
  started: RunStarted,
  given: Parts,
  begun: TracedSpan | undefined,
): TracedLeg {
  const span = begun ?? laterSpan(agent, started);
  return span === undefined
    ? { parts: given, within: (work) => work(), end() {} }
    : tracedLeg(span, started, given, agent);
}

function tracedLeg(span: TracedSpan, started: RunStarted, given: Parts, agent: AgentCore): TracedLeg {
  const open = new Map<string, TracedSpan>();
  const inSpans = (parts: Parts, run: RunStarted, of: TracedSpan): Parts => {
    of.note({ ...runFacts(run), ...modelFacts(parts.model) });
    return {
      ...parts,
      model: tracedModel(parts.model, run, of),
      tools: new Map([...parts.tools].map(([id, named]) => [id, tracedNamed(named, of)])),
    };
  };
  const tracedNamed = (named: NamedTool, of: TracedSpan): NamedTool =>
    named.delegate
      ? { ...named, delegate: tracedDelegate(named.delegate, of) }
      : { ...named, tool: tracedTool(named.tool, of) };
  const tracedDelegate = (delegate: Delegate, of: TracedSpan): Delegate => ({
    begin: (execution, input) => delegate.begin(execution, input),
    async partsOf(child, parent) {
      const below = open.get(child.runId) ?? spanBelow(of, agent, child);
      open.set(child.runId, below);
      return inSpans(await delegate.partsOf(child, parent), child, below);
    },
    async result(execution, child) {
      const { runId } = child.started;
      const below = open.get(runId);
      open.delete(runId);
      if (below) endLegSpan(below, child);
      return delegate.result(execution, child);
    },
  });

  return {
    parts: inSpans(given, started, span),
    within: span.within,
    end(root, failure) {
      // Those of the inner runs before those of the outer ones.
      for (const [runId, below] of [...open].reverse()) {
        const run = findRun(root, runId);
        if (run) endLegSpan(below, run);
        else below.end();
      }
      if (failure === undefined) endLegSpan(span, root);
      else span.end(failure);
    },
  };
}

function tracedModel(model: Model, run: RunStarted, of: TracedSpan): Model {
  return {
    ...model,
    async call(request) {
      const span = stepSpan(of, run, model);
      try {
        const response = await span.within(() => model.call(request));
        span.note(responseFacts(response));
        span.end();
        return response;
      } catch (thrown) {
        span.end(thrown);
        throw thrown;
      }
    },
  };
}

function tracedTool(tool: Tool, of: TracedSpan): Tool {
  if (tool.execute === undefined) return tool;
  return Object.freeze({
    ...tool,
    async execute(input, context) {
      const span = toolSpan(of, tool.id, context);
      try {
        const output = await span.within(() => tool.execute?.(input, context));
        if (isAsyncIterable(output)) return tracedOutputs(output, span);
        span.end();
        return output;
      } catch (thrown) {
        span.end(thrown);
        throw thrown;
      }
    },
  } satisfies Tool);
}

/** A generator goes on in its span whenever it is asked. */
async function* tracedOutputs(outputs: AsyncIterable<unknown>, span: TracedSpan): AsyncGenerator<unknown> {
  const iterator = outputs[Symbol.asyncIterator]();
  let failure: unknown;
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await span.within(() => iterator.next());
      isDone = done === true;
      if (done) return;
      yield value;
    }
  } catch (thrown) {
    isDone = true;
    failure = thrown;
    throw thrown;
  } finally {
    if (!isDone) await span.within(() => iterator.return?.());
    span.end(failure);
  }
}
