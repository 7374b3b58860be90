/** What a leg told its caller, the same whether it was streamed or collected. */
import type {
  AgentOutput,
  AgentStream,
  Chunk,
  CountersignError,
  StepResult,
  SuspendPayload,
} from 'countersign';

export interface Told {
  readonly runId: string;
  readonly messageId: string;
  readonly finishReason: string;
  readonly text: string;
  readonly totalText: string;
  /** The calls that wait now, in the order of the model. */
  readonly payloads: readonly SuspendPayload[];
  /** The results that this leg told. */
  readonly results: readonly SuspendPayload[];
  readonly steps: readonly StepResult[];
  readonly error: CountersignError | undefined;
  /** What was streamed; undefined where the leg was collected by `generate`. */
  readonly chunks: readonly Chunk[] | undefined;
}

export async function readStream(stream: AgentStream): Promise<Told> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream.fullStream) chunks.push(chunk);
  const { runId, messageId } = stream;
  const error = await stream.error;
  return {
    runId,
    messageId,
    finishReason: await stream.finishReason,
    text: error ? '' : await stream.text,
    totalText: await stream.totalText,
    payloads: await stream.suspendPayloads,
    results: (await stream.toolResults).map(({ payload }) => payload),
    steps: await stream.steps,
    error,
    chunks,
  };
}

export function toldByOutput(output: AgentOutput): Told {
  const { runId, messageId, finishReason, text, totalText, suspendPayloads, toolResults, steps, error } =
    output;
  return {
    runId,
    messageId,
    finishReason,
    text,
    totalText,
    payloads: suspendPayloads,
    results: toolResults.map(({ payload }) => payload),
    steps,
    error,
    chunks: undefined,
  };
}

/** The types of chunks, a row of one type as one. */
export function typesOf(chunks: readonly Chunk[]): string[] {
  return chunks.map(({ type }) => type).filter((type, index, types) => type !== types[index - 1]);
}

type Having<Any, Type> = Any extends { readonly type: infer Own } ? (Type extends Own ? Any : never) : never;

/** The chunks of one type. */
export function ofType<Type extends Chunk['type']>(
  chunks: readonly Chunk[] | undefined,
  type: Type,
): Having<Chunk, Type>[] {
  return (chunks ?? []).filter((chunk) => chunk.type === type) as Having<Chunk, Type>[];
}

const outcomes = new Set(['tool-result', 'tool-error', 'tool-output-denied']);
const announcements = new Set(['tool-call-approval', 'tool-call-suspended']);

/** What breaks the grammar of a leg: start … finish, calls before what is said of them, everything once. */
export function grammarProblems(chunks: readonly Chunk[]): string[] {
  const problems: string[] = [];
  const types = chunks.map(({ type }) => type);
  if (types[0] !== 'start' || types.lastIndexOf('start') !== 0) problems.push('not one start, at the start');
  if (types.indexOf('finish') !== types.length - 1) problems.push('not one finish, at the end');
  if (new Set(chunks.map(({ runId }) => runId)).size > 1) problems.push('several runs');
  const open = new Set<string>();
  const called = new Set<string>();
  const settled = new Set<string>();
  for (const chunk of chunks) {
    const { toolCallId = '', id = '' } = ('payload' in chunk ? chunk.payload : {}) as Record<string, string>;
    const [kind = ''] = chunk.type.split(/-(?=start$|end$|delta$)/);
    if (kind === 'text' || kind === 'reasoning') {
      const key = `${kind} ${id}`;
      if (chunk.type.endsWith('start') ? open.has(key) : !open.has(key))
        problems.push(`${chunk.type} of ${key}`);
      if (chunk.type.endsWith('start')) open.add(key);
      if (chunk.type.endsWith('end')) open.delete(key);
    } else if (chunk.type === 'tool-call') {
      if (called.has(toolCallId)) problems.push(`call ${toolCallId} told twice`);
      called.add(toolCallId);
    } else if (outcomes.has(chunk.type) || announcements.has(chunk.type)) {
      if (!called.has(toolCallId)) problems.push(`${chunk.type} before its call ${toolCallId}`);
      if (settled.has(toolCallId)) problems.push(`${chunk.type} after the outcome of ${toolCallId}`);
      if (outcomes.has(chunk.type)) settled.add(toolCallId);
    }
  }
  for (const key of open) problems.push(`${key} never ends`);
  return problems;
}
