/**
 * Owns what becomes of the calls that a model asked for: refused, held or free, decided once and stored with the
 * call. Nothing here executes anything.
 */
import type { CallIds } from './call-ids.ts';
import { messageOf } from './errors.ts';
import type { CallError, CallRequested, StepContent, StepFinished } from './event.ts';
import { canonicalJson, isTooDeep, type Json, type JsonObject, sameJson, toJson } from './json.ts';
import type { ModelResponse, ResponsePart } from './model.ts';
import { activeTools, type NamedTool, type Parts } from './parts.ts';
import { isHeld } from './policy.ts';
import { validate } from './schema.ts';
import type { Run } from './state.ts';

type CallPart = Extract<ResponsePart, { type: 'call' }>;

/** The events that a whole response amounts to: the step, then each of its calls with the gate's answer. */
export async function gateResponse(
  run: Run,
  step: number,
  response: ModelResponse,
  ids: CallIds,
  parts: Parts,
): Promise<(StepFinished | CallRequested)[]> {
  const { runId } = run.started;
  const at = parts.clock.now();
  const asked: { part: CallPart; toolCallId: string }[] = [];
  const content = response.content.map((part): StepContent => {
    if (part.type === 'provider-result') return { ...part, toolCallId: ids.ofResult(part.toolCallId) };
    if (part.type === 'provider-call') return { ...part, toolCallId: ids.take(part.toolCallId) };
    if (part.type !== 'call') return part;
    const toolCallId = ids.take(part.toolCallId);
    asked.push({ part: { ...part, toolName: part.toolName.toWellFormed() }, toolCallId });
    return { type: 'call', toolCallId };
  });
  const offered = asked.length > 0 ? activeTools(parts, step) : new Map<string, NamedTool>();
  const requests = await Promise.all(
    asked.map(async ({ part, toolCallId }): Promise<CallRequested> => {
      const judged = isCut(response)
        ? await refusal(part, parts, 'response-cut', `The response was cut short (${response.finishReason}).`)
        : await judge(run, part, toolCallId, offered, parts);
      return { type: 'call-requested', runId, at, toolCallId, step, toolName: part.toolName, ...judged };
    }),
  );
  const { finishReason, usage, response: meta, providerMetadata, warnings } = response;
  const finished: StepFinished = {
    type: 'step-finished',
    runId,
    at,
    step,
    content,
    finishReason,
    usage: usage as JsonObject,
    ...(meta ? { response: meta } : {}),
    ...(providerMetadata ? { providerMetadata } : {}),
    ...(warnings ? { warnings } : {}),
  };
  return [finished, ...requests];
}

/** Calls of a response that was cut short are not what the model meant, though they may look whole. */
function isCut({ finishReason }: ModelResponse): boolean {
  return finishReason === 'length' || finishReason === 'content-filter';
}

type Bound = Pick<CallRequested, 'raw' | 'args' | 'textHash' | 'fingerprint'>;

type Judged = Omit<CallRequested, 'type' | 'runId' | 'at' | 'toolCallId' | 'step' | 'toolName'>;

async function judge(
  run: Run,
  part: CallPart,
  toolCallId: string,
  offered: Map<string, NamedTool>,
  parts: Parts,
): Promise<Judged> {
  const extras = part.providerOptions ? { providerOptions: part.providerOptions } : {};
  const named = offered.get(part.toolName);
  const refuse = (code: CallError['code'], message: string): Promise<Judged> =>
    refusal(part, parts, code, message);
  if (part.unparsable) return refuse('invalid-arguments', 'The arguments are not valid JSON.');
  if (!isObject(part.raw)) return refuse('invalid-arguments', 'The arguments must be a JSON object.');
  if (!repeatable(part)) return refuse('invalid-arguments', 'The arguments have no canonical JSON form.');
  if (part.approvalId !== undefined) {
    return {
      ...(await bind(parts, part.toolName, part.raw, undefined)),
      gate: 'held',
      approvalId: part.approvalId,
      ...extras,
    };
  }
  if (named === undefined) {
    const names = [...offered.keys()].join(', ') || 'none';
    return refuse('tool-not-found', `There is no tool "${part.toolName}". Available tools: ${names}.`);
  }
  const { tool } = named;
  let input: unknown;
  let args: Json;
  let bound: Bound;
  try {
    const valid = await validate(tool.inputSchema, clone(part.raw));
    if (!valid.ok) {
      return refuse('invalid-arguments', `The arguments do not match the schema: ${valid.issues.join('; ')}`);
    }
    input = valid.value;
    args = toJson(input, `input of tool "${tool.id}"`);
    bound = await bind(parts, tool.id, part.raw, args);
  } catch (thrown) {
    return refuse('invalid-arguments', `The arguments have no canonical JSON form: ${messageOf(thrown)}`);
  }
  if (JSON.stringify(args).length > parts.limits.args) {
    return refuse('too-large', `The arguments are larger than ${parts.limits.args} characters.`);
  }
  const { runId } = run.started;
  const held = await isHeld(
    { ...named, runId, toolCallId, messages: () => parts.messagesOf(run), input, args },
    parts.policies,
    parts.context,
    parts.workspace,
  );
  return {
    ...bound,
    gate: held ? 'held' : 'free',
    ...(tool.approver ? { approver: tool.approver } : {}),
    ...(tool.idempotent || tool.readOnly ? { repeatable: true } : {}),
    ...extras,
  };
}

async function refusal(
  part: CallPart,
  parts: Parts,
  code: CallError['code'],
  message: string,
): Promise<Judged> {
  return {
    ...(await bind(parts, part.toolName, repeatable(part) ? part.raw : {}, undefined)),
    gate: 'refused',
    error: { code, message },
    ...(part.providerOptions ? { providerOptions: part.providerOptions } : {}),
  };
}

/** What an approval is bound to. `args` is kept only where it is not what the model wrote. */
async function bind({ sha256 }: Parts, toolName: string, raw: Json, args: Json | undefined): Promise<Bound> {
  const differs = args !== undefined && !sameJson(raw, args);
  const shown = differs ? args : raw;
  const [textHash, fingerprint] = await Promise.all([
    sha256(JSON.stringify(shown)),
    sha256(canonicalJson({ v: 1, toolName, args: shown })),
  ]);
  return { raw, ...(differs ? { args } : {}), textHash, fingerprint };
}

/** Whether the prompt can repeat the arguments to a provider. */
function repeatable(part: CallPart): boolean {
  if (part.unparsable || !isObject(part.raw) || isTooDeep(part.raw)) return false;
  try {
    return canonicalJson(part.raw) !== undefined;
  } catch {
    return false;
  }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy that a schema or a tool may change. */
export function clone(value: Json): unknown {
  return JSON.parse(JSON.stringify(value));
}
