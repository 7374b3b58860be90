/** Which chunks an event becomes for a reader who saw nothing of it before. Pure. */
import type { Found } from '../core/below.ts';
import type { Event, StepContent } from '../core/event.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { textOf } from '../core/message.ts';
import { totalUsage } from '../core/next.ts';
import { lastDecision, type Run, type Step } from '../core/state.ts';
import type { ApprovalPayload, Chunk, FinishReason, PayloadOf, SuspensionPayload } from './chunk.ts';
import { foundPayload, stepResults, stopPayload } from './result.ts';

/** Puts a payload into its envelope. */
export function chunk<Type extends Exclude<Chunk['type'], `data-${string}`>>(
  runId: string,
  type: Type,
  payload: PayloadOf<Type>,
): Chunk {
  return { type, runId, from: 'AGENT', payload } as unknown as Chunk;
}

export function toolCallChunk(root: Run, found: Found, replayed: boolean): Chunk {
  const { providerOptions } = found.call.request;
  return chunk(root.started.runId, 'tool-call', {
    ...foundPayload(root, found),
    ...(replayed ? { replayed: true } : {}),
    ...(providerOptions ? { providerMetadata: providerOptions } : {}),
  });
}

/** The chunk that tells a call's present state, if it is one that readers are told. */
export function outcomeChunk(root: Run, found: Found): Chunk | undefined {
  const { runId } = root.started;
  const { id, call } = found;
  const payload = foundPayload(root, found);
  switch (call.state) {
    case 'held':
      return chunk(runId, 'tool-call-approval', stopPayload(root, found) as ApprovalPayload);
    case 'suspended':
      return chunk(runId, 'tool-call-suspended', stopPayload(root, found) as SuspensionPayload);
    case 'finished':
      return chunk(runId, 'tool-result', { ...payload, result: call.result });
    case 'failed':
      return chunk(runId, 'tool-error', {
        ...payload,
        error: call.error ?? { code: 'tool-failed', message: 'The call failed.' },
      });
    case 'declined':
    case 'cancelled': {
      const reason = call.state === 'declined' ? lastDecision(call)?.reason : undefined;
      return chunk(runId, 'tool-output-denied', {
        ...payload,
        approval: { id, approved: false, ...(reason === undefined ? {} : { reason }) },
      });
    }
    default:
      return undefined;
  }
}

/** What a whole response says beside its calls. `streamed`: text and reasoning were passed on while it came. */
export function contentChunks(
  runId: string,
  step: number,
  content: readonly StepContent[],
  streamed: boolean,
): Chunk[] {
  return content.flatMap((part, index) => partChunks(runId, `${step}-${index}`, part, content, streamed));
}

function partChunks(
  runId: string,
  id: string,
  part: StepContent,
  content: readonly StepContent[],
  streamed: boolean,
): Chunk[] {
  switch (part.type) {
    case 'text':
      return streamed ? [] : textChunks(runId, id, part.text);
    case 'reasoning':
      return streamed
        ? []
        : [
            chunk(runId, 'reasoning-start', { id }),
            chunk(runId, 'reasoning-delta', { id, text: part.text }),
            chunk(runId, 'reasoning-end', { id }),
          ];
    case 'source':
    case 'custom': {
      const { type, ...payload } = part as JsonObject & { type: 'source' | 'custom' };
      return [chunk(runId, type, payload)];
    }
    case 'file':
    case 'reasoning-file':
      return [chunk(runId, part.type, { data: part.data, base64: part.data, mimeType: part.mediaType })];
    case 'provider-call': {
      const { toolCallId, toolName, raw } = part;
      return [chunk(runId, 'tool-call', { toolCallId, toolName, args: raw, providerExecuted: true })];
    }
    case 'provider-result': {
      const { toolCallId, toolName, result, isError } = part;
      const args = providerArgs(content, toolCallId);
      const failed = isError ? { isError } : {};
      return [
        chunk(runId, 'tool-result', {
          toolCallId,
          toolName,
          args,
          result,
          providerExecuted: true,
          ...failed,
        }),
      ];
    }
    case 'call':
      return [];
  }
}

/** A text that comes in one piece. */
export function textChunks(runId: string, id: string, text: string): Chunk[] {
  return [
    chunk(runId, 'text-start', { id }),
    chunk(runId, 'text-delta', { id, text }),
    chunk(runId, 'text-end', { id }),
  ];
}

function providerArgs(content: readonly StepContent[], toolCallId: string): Json {
  const call = content.find((part) => part.type === 'provider-call' && part.toolCallId === toolCallId);
  return call?.type === 'provider-call' ? call.raw : {};
}

export function stepStartChunk(run: Run, event: Extract<Event, { type: 'step-started' }>): Chunk {
  return chunk(event.runId, 'step-start', { messageId: run.started.messageId, step: event.step });
}

/** The end of a step of which nothing is open. */
export function stepFinishChunk(run: Run, step: Step): Chunk {
  const { content, finishReason, usage, response } = step.response as NonNullable<Step['response']>;
  return chunk(run.started.runId, 'step-finish', {
    messageId: run.started.messageId,
    stepResult: { reason: finishReason, isContinued: step.calls.length > 0 },
    output: { text: textOf(content as readonly Json[]), usage },
    metadata: response ?? {},
  });
}

/** The end of what is told of a run. */
export function finishChunk(run: Run, finishReason: FinishReason, decided?: true): Chunk {
  return chunk(run.started.runId, 'finish', {
    finishReason,
    stepResult: { reason: finishReason, isContinued: false },
    output: { usage: totalUsage(run), steps: stepResults(run) },
    metadata: { version: run.length },
    ...(decided ? { decided } : {}),
  });
}
