/**
 * Owns the way of one claimed call through `execute`: everything is checked again, and whatever happens becomes one
 * event. Never throws.
 */
import { CountersignError, messageOf } from './errors.ts';
import type { CallError, Event, RunStarted } from './event.ts';
import { clone } from './gate.ts';
import { type Json, sameJson, toJson } from './json.ts';
import type { Passing } from './log.ts';
import type { ModelOutput } from './message.ts';
import type { Execution, NamedTool, ToolHookContext } from './parts.ts';
import { validate } from './schema.ts';
import type { Call } from './state.ts';
import { mayAutoResume, type Tool, type ToolContext, type ToolWriter } from './tool.ts';

type OutcomeEvent = Extract<
  Event,
  { type: 'call-finished' | 'call-failed' | 'call-suspended' | 'call-released' | 'run-started' }
>;

/**
 * Carries out a call whose claim is stored, and says what came of it; released: it did not begin. A delegation begins
 * its run below, and is carried out again when that has ended.
 */
export async function executeCall(execution: Execution): Promise<OutcomeEvent> {
  const { call, parts, run } = execution;
  const on = { runId: run.started.runId, toolCallId: call.toolCallId };
  const outcome = await attempt(execution).catch((thrown: unknown) =>
    failed('tool-failed', messageOf(thrown)),
  );
  return outcome.type === 'run-started' ? outcome : { ...on, at: parts.clock.now(), ...outcome };
}

/** Of the message of an error, in characters: it goes into event, record and prompt. */
const longestMessage = 16 * 1024;

type CallOutcome = RunStarted | WithoutCall<Exclude<OutcomeEvent, RunStarted>>;
type WithoutCall<T> = T extends unknown ? Omit<T, 'runId' | 'toolCallId' | 'at'> : never;

function failed(code: CallError['code'], message: string, name?: string): CallOutcome {
  const text = message.slice(0, longestMessage);
  return { type: 'call-failed', error: { code, message: text, ...(name ? { name } : {}) } };
}

async function attempt(execution: Execution): Promise<CallOutcome> {
  const { call, parts } = execution;
  const { request, toolName } = call;
  const stored = JSON.stringify(call.args);
  if ((await parts.sha256(stored)) !== request.textHash || !isApproved(call)) {
    return failed('tool-changed', 'The stored call is not the one that was approved; it did not run.');
  }
  if (request.approvalId !== undefined) return { type: 'call-finished', result: null };
  const named = parts.tools.get(toolName);
  if (named?.tool.execute === undefined) {
    return failed('tool-not-found', `There is no tool "${toolName}" any more; the call did not run.`);
  }
  const { tool } = named;
  const input = await validate(tool.inputSchema, clone(request.raw));
  if (!input.ok || !sameJson(toJson(input.value, 'input'), call.args)) {
    return failed(
      'tool-changed',
      `Tool "${toolName}" now reads these arguments differently; the call did not run.`,
    );
  }
  const resumed = await resumeDataOf(call, tool);
  if (!resumed.ok) {
    return failed('tool-changed', `Tool "${toolName}" no longer accepts the data that it was resumed with.`);
  }
  return withHooks(execution, named, input.value, resumed.value);
}

/** Invariant 1: a held call runs only on a stored approval of exactly this call. */
function isApproved({ request, decisions }: Call): boolean {
  return (
    request.gate !== 'held' ||
    decisions.some(({ verdict, fingerprint }) => verdict === 'approve' && fingerprint === request.fingerprint)
  );
}

async function resumeDataOf(call: Call, tool: Tool): Promise<{ ok: true; value: unknown } | { ok: false }> {
  const data = call.decisions.findLast((decision) => decision.verdict === 'resume')?.data;
  if (data === undefined) return { ok: true, value: undefined };
  return validate(tool.resumeSchema, clone(data));
}

async function withHooks(
  execution: Execution,
  { tool, delegate }: NamedTool,
  input: unknown,
  resumeData: unknown,
): Promise<CallOutcome> {
  const { call, parts, run } = execution;
  const hookContext = (): ToolHookContext => ({
    runId: run.started.runId,
    agentId: run.started.agentId,
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    input: clone(call.args),
    requestContext: parts.context(),
  });
  for (const hooks of call.child ? [] : parts.hooks) {
    const answer = await hooks.beforeToolCall?.(hookContext());
    if (answer?.proceed === false) {
      const result = toJson(answer.output, `output of beforeToolCall for "${call.toolName}"`);
      return (
        tooLarge(result, parts.limits.result, 'The answer of a hook') ?? {
          type: 'call-finished',
          result,
          blocked: true,
        }
      );
    }
  }
  const after = async (facts: { output?: unknown; error?: unknown }): Promise<void> => {
    for (const hooks of parts.hooks) await hooks.afterToolCall?.({ ...hookContext(), ...facts });
  };
  if (execution.abortSignal.aborted || !execution.mayBegin()) return { type: 'call-released' };
  const suspension: { payload?: unknown; asked?: true } = {};
  let output: unknown;
  try {
    if (delegate && !call.child) {
      const begun = await delegate.begin(execution, input);
      if (!('output' in begun)) return begun;
      output = begun.output;
    } else if (delegate && call.child) {
      output = await delegate.result(execution, call.child);
    } else {
      output = await tool.execute?.(input, toolContext(execution, resumeData, suspension));
      if (isAsyncIterable(output)) output = await lastOf(output, execution);
    }
  } catch (error) {
    await after({ error }).catch((thrown) => parts.warn(`afterToolCall threw: ${messageOf(thrown)}`));
    return failed('tool-failed', messageOf(error), error instanceof Error ? error.name : undefined);
  }
  if (suspension.asked) return suspend(execution, tool, suspension.payload);
  try {
    await after({ output });
  } catch (thrown) {
    return failed('tool-failed', `The tool ran, but afterToolCall failed: ${messageOf(thrown)}`);
  }
  return finish(execution, tool, input, output);
}

async function finish(
  { parts, call }: Execution,
  tool: Tool,
  input: unknown,
  output: unknown,
): Promise<CallOutcome> {
  const valid = await validate(tool.outputSchema, output);
  if (!valid.ok) {
    return failed(
      'invalid-output',
      `The tool ran, but its output does not match: ${valid.issues.join('; ')}`,
    );
  }
  let result: Json;
  let modelOutput: ModelOutput | undefined;
  try {
    result = toJson(valid.value, `result of tool "${call.toolName}"`);
    const forModel = await tool.toModelOutput?.(valid.value, { toolCallId: call.toolCallId, input });
    modelOutput = forModel && (toJson(forModel, 'toModelOutput') as unknown as ModelOutput);
  } catch (thrown) {
    return failed('invalid-output', `The tool ran, but its output cannot be kept: ${messageOf(thrown)}`);
  }
  return (
    tooLarge(result, parts.limits.result, 'The tool ran, but its result') ?? {
      type: 'call-finished',
      result,
      ...(modelOutput ? { modelOutput } : {}),
    }
  );
}

async function suspend({ call, parts }: Execution, tool: Tool, given: unknown): Promise<CallOutcome> {
  const valid = await validate(tool.suspendSchema, given);
  if (!valid.ok) {
    return failed(
      'invalid-suspend-payload',
      `The payload of suspend() does not match: ${valid.issues.join('; ')}`,
    );
  }
  try {
    const payload = toJson(valid.value, `payload of suspend() in tool "${call.toolName}"`);
    const resumeSchema = await tool.resumeJsonSchema();
    return (
      tooLarge(payload, parts.limits.payload, 'The payload of suspend()') ?? {
        type: 'call-suspended',
        stop: call.stop + 1,
        payload,
        ...(resumeSchema ? { resumeSchema } : {}),
        ...(resumeSchema && mayAutoResume(tool, resumeSchema) ? { autoResume: true } : {}),
      }
    );
  } catch (thrown) {
    return failed('invalid-suspend-payload', messageOf(thrown));
  }
}

function tooLarge(value: Json, limit: number, what: string): CallOutcome | undefined {
  const length = JSON.stringify(value).length;
  if (length <= limit) return undefined;
  return failed('too-large', `${what} has ${length} characters of JSON; at most ${limit} are kept.`);
}

function toolContext(
  { run, call, parts, abortSignal, pass }: Execution,
  resumeData: unknown,
  suspension: { payload?: unknown; asked?: true },
): ToolContext {
  const { runId, agentId, threadId, resourceId } = run.started;
  const { toolCallId } = call;
  return {
    runId,
    toolCallId,
    requestContext: parts.context(),
    abortSignal,
    writer: writerOf(toolCallId, pass),
    idempotencyKey: `${runId}:${toolCallId}`,
    workspace: parts.workspace,
    agent: {
      agentId,
      toolCallId,
      threadId,
      resourceId,
      resumeData,
      get messages() {
        return parts.messagesOf({ ...run, steps: run.steps.slice(0, call.request.step) });
      },
      async suspend(payload) {
        if (suspension.asked) return;
        suspension.asked = true;
        suspension.payload = snapshot(payload);
      },
    },
  };
}

/** What the tool does with it afterwards changes nothing. What cannot be copied cannot be kept either. */
function snapshot(payload: unknown): unknown {
  try {
    return structuredClone(payload);
  } catch {
    return payload;
  }
}

function writerOf(toolCallId: string, pass: Execution['pass']): ToolWriter {
  return {
    async write(output) {
      pass({ type: 'tool-output', payload: { toolCallId, output: toJson(output, 'writer.write()') } });
    },
    async custom(chunk) {
      if (!chunk.type.startsWith('data-')) {
        throw new CountersignError(
          'invalid-option',
          `writer.custom() was given a chunk of type "${chunk.type}".`,
          {
            expected: "a type that begins with 'data-'",
          },
        );
      }
      pass(toJson(chunk, 'writer.custom()') as unknown as Passing);
    },
  };
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** A generator's values are progress; its last one is the output (as AI SDK tools have it). */
async function lastOf(outputs: AsyncIterable<unknown>, { call, pass }: Execution): Promise<unknown> {
  let last: unknown;
  const writer = writerOf(call.toolCallId, pass);
  for await (const output of outputs) {
    last = output;
    await writer.write(output);
  }
  return last;
}
