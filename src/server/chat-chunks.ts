/**
 * Owns what a chat page of the AI SDK is told: the chunks of its UI message stream, only those that version 6 knows
 * too, under the ids by which the thread shows the same. Pure.
 */
import { approvalIdOf } from '../conversation/approval-id.ts';
import { dataUrl } from '../conversation/input-view.ts';
import { sourceParts } from '../conversation/run-view.ts';
import {
  delegatedPart,
  isObject,
  isToolPart,
  suspendedPart,
  toolNameOf,
  type UiPart,
  withNotes,
} from '../conversation/ui-parts.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { CallPayload, Chunk, FinishReason } from '../stream/chunk.ts';
import { type ShownCall, shownCalls } from './chat-shown.ts';
import { problemOf } from './problem.ts';

/** A chunk of the AI SDK's UI message stream. */
export interface UiChunk {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What a page has of a message. */
export interface Known {
  /** It has so many steps from the first. Of these only the calls of the last one can change. */
  steps: number;
  readonly calls: Map<string, ShownCall>;
}

export function nothingKnown(): Known {
  return { steps: 0, calls: new Map() };
}

export function startChunk(messageId: string, runId: string): UiChunk {
  return { type: 'start', messageId, messageMetadata: { runId } };
}

export function errorChunk(error: unknown): UiChunk {
  return { type: 'error', errorText: String(problemOf(error).error) };
}

const reasons: readonly string[] = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'];

export function finishChunk(reason: FinishReason): UiChunk {
  const isPause = reason === 'suspended' || reason === 'max-steps';
  return {
    type: 'finish',
    finishReason: isPause ? 'tool-calls' : reasons.includes(reason) ? reason : 'other',
  };
}

/** What a page is told of a chunk of a leg. */
export function fromChunk(chunk: Chunk, known: Known): UiChunk[] {
  if (!('payload' in chunk)) {
    const { type, data, id } = chunk;
    return [{ type, ...(id === undefined ? {} : { id }), data }];
  }
  const { runId } = chunk;
  switch (chunk.type) {
    case 'start':
      return [startChunk(chunk.payload.messageId, runId)];
    case 'step-start':
      known.steps++;
      return [{ type: 'start-step' }];
    case 'step-finish':
      return [{ type: 'finish-step' }];
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return [{ type: chunk.type, ...chunk.payload }];
    case 'text-delta':
    case 'reasoning-delta': {
      const { text, ...payload } = chunk.payload;
      return [{ type: chunk.type, ...payload, delta: text }];
    }
    case 'source':
      return fromParts(sourceParts(chunk.payload));
    case 'file': {
      const { base64, mimeType } = chunk.payload;
      return [{ type: 'file', mediaType: mimeType, url: dataUrl(base64, mimeType) }];
    }
    case 'tool-call': {
      const { toolCallId, providerExecuted, providerMetadata } = chunk.payload;
      if (known.calls.has(toolCallId)) return [];
      const { toolName, args } = chunk.payload;
      // Whether it is one is not said; then it is shown when something comes of it.
      if (toolName.startsWith('agent-')) {
        return [
          delegatedPart({ type: `tool-${toolName}`, toolCallId, state: 'input-available', input: args }),
        ];
      }
      known.calls.set(toolCallId, { isOpen: true });
      return [
        {
          ...inputChunk(chunk.payload),
          ...(providerExecuted ? { providerExecuted } : {}),
          ...(providerMetadata ? { providerMetadata } : {}),
        },
      ];
    }
    case 'tool-call-approval': {
      const { toolCallId, stop, fingerprint } = chunk.payload;
      const approvalId = approvalIdOf({ runId, toolCallId, stop });
      if (known.calls.get(toolCallId)?.stop === approvalId) return [];
      const before = unshown(chunk.payload, known);
      known.calls.set(toolCallId, { isOpen: false, stop: approvalId });
      return [
        ...before,
        { type: 'tool-approval-request', approvalId, toolCallId, approvalDescriptor: { fingerprint, stop } },
      ];
    }
    case 'tool-call-suspended': {
      const { toolCallId, toolName, stop, suspendPayload, resumeSchema } = chunk.payload;
      const schema: JsonObject = resumeSchema ? { resumeSchema: JSON.parse(resumeSchema) } : {};
      const asked = approvalIdOf({ runId, toolCallId, stop });
      const shown = known.calls.get(toolCallId);
      if (shown?.stop === asked) return [];
      known.calls.set(toolCallId, { isOpen: true, stop: asked });
      return [
        // To tell an open call again would have the page carry it out again.
        ...(shown?.isOpen ? [] : [inputChunk(chunk.payload)]),
        suspendedPart({ runId, toolCallId, toolName, stop, suspendPayload, ...schema }),
      ];
    }
    case 'tool-result': {
      const { toolCallId, result, isError, providerExecuted } = chunk.payload;
      const executed = providerExecuted ? { providerExecuted } : {};
      const before = unshown(chunk.payload, known);
      if (!isError) {
        return [
          ...before,
          { type: 'tool-output-available', toolCallId, output: result ?? null, ...executed },
        ];
      }
      const errorText = typeof result === 'string' ? result : JSON.stringify(result);
      return [...before, { type: 'tool-output-error', toolCallId, errorText, ...executed }];
    }
    case 'tool-error':
      return [
        ...unshown(chunk.payload, known),
        {
          type: 'tool-output-error',
          toolCallId: chunk.payload.toolCallId,
          errorText: chunk.payload.error.message,
        },
      ];
    case 'tool-output-denied':
      return [
        ...unshown(chunk.payload, known),
        { type: 'tool-output-denied', toolCallId: chunk.payload.toolCallId },
      ];
    case 'tool-output':
      // What a tool says while it runs is not kept in the thread either.
      return [{ type: 'data-tool-output', data: chunk.payload, transient: true }];
    case 'error':
      return [errorChunk(chunk.payload.error)];
    case 'abort':
      return [{ type: 'abort', ...chunk.payload }];
    case 'finish':
      return [finishChunk(chunk.payload.finishReason)];
    default:
      // Version 6 knows no custom parts and no files of reasoning. Input that is not whole may never be gated.
      return [];
  }
}

/** A call of which a page has heard nothing yet. */
function unshown(call: CallPayload, { calls }: Known): UiChunk[] {
  if (calls.has(call.toolCallId)) return [];
  calls.set(call.toolCallId, { isOpen: true });
  return [inputChunk(call)];
}

function inputChunk({ toolCallId, toolName, args, path }: CallPayload): UiChunk {
  const below = path ? withNotes({ isBelow: true }) : {};
  return { type: 'tool-input-available', toolCallId, toolName, input: args, ...below };
}

/** What a page that has some of a message is told of the rest, and of what waits at stops that it does not show. */
export function fromMessage(parts: readonly UiPart[], known: Known): UiChunk[] {
  const chunks: UiChunk[] = [];
  const calls = shownCalls(parts);
  const isUntold = (id: string): boolean => {
    const stop = calls.get(id)?.stop;
    return stop !== undefined && stop !== known.calls.get(id)?.stop;
  };
  const waiting = new Set([...calls.keys()].filter(isUntold));
  let step = 0;
  for (const [index, part] of parts.entries()) {
    if (part.type === 'step-start') step++;
    if (step < known.steps) continue;
    const isNew = step > known.steps;
    if (isToolPart(part)) {
      const id = String(part.toolCallId);
      const shown = known.calls.get(id);
      chunks.push(...fromCall(part, shown, waiting.has(id)));
      // Of a call that runs by now the page is told nothing: it shows what it showed.
      if (!shown || waiting.has(id)) known.calls.set(id, calls.get(id) as ShownCall);
    } else if (isNew || isAsked(part, waiting)) chunks.push(...fromParts([part], `${index}`));
  }
  known.steps = Math.max(known.steps, step);
  return chunks;
}

function isAsked({ type, id }: UiPart, waiting: ReadonlySet<string>): boolean {
  return type === 'data-tool-call-suspended' && waiting.has(String(id));
}

/**
 * @param shown what the page shows of it.
 * @param waits at a stop that the page does not show.
 */
function fromCall(part: UiPart, shown: ShownCall | undefined, waits: boolean): UiChunk[] {
  const { toolCallId, state, approval, output, errorText } = part;
  const { input, providerExecuted, callProviderMetadata, toolMetadata } = part;
  const executed = providerExecuted ? { providerExecuted } : {};
  const whole = {
    type: 'tool-input-available',
    toolCallId,
    toolName: toolNameOf(part),
    input,
    ...executed,
    ...(callProviderMetadata ? { providerMetadata: callProviderMetadata } : {}),
    ...(toolMetadata ? { toolMetadata } : {}),
  };
  const isNew = shown === undefined;
  const chunks: UiChunk[] = isNew || (waits && state === 'input-available' && !shown.isOpen) ? [whole] : [];
  if (isObject(approval) && (isNew || (waits && state === 'approval-requested'))) {
    const { id: approvalId, descriptor } = approval;
    const given = descriptor === undefined ? {} : { approvalDescriptor: descriptor };
    chunks.push({ type: 'tool-approval-request', approvalId, toolCallId, ...given });
  }
  if (state === 'output-available' || state === 'approval-responded') {
    chunks.push({ type: 'tool-output-available', toolCallId, output: output ?? null, ...executed });
  } else if (state === 'output-error') {
    chunks.push({ type: 'tool-output-error', toolCallId, errorText, ...executed });
  } else if (state === 'output-denied') chunks.push({ type: 'tool-output-denied', toolCallId });
  return chunks;
}

/** Parts that are no calls. */
function fromParts(parts: readonly UiPart[], id = ''): UiChunk[] {
  return parts.flatMap((part): UiChunk[] => {
    const { type, text, providerMetadata } = part;
    const given = providerMetadata === undefined ? {} : { providerMetadata };
    switch (type) {
      case 'step-start':
        return [{ type: 'start-step' }];
      case 'text':
      case 'reasoning':
        return [
          { type: `${type}-start`, id, ...given },
          { type: `${type}-delta`, id, delta: text as Json },
          { type: `${type}-end`, id },
        ];
      case 'file':
      case 'source-url':
      case 'source-document':
        return [part];
      default:
        return type.startsWith('data-') ? [part] : [];
    }
  });
}
