/** The parts of UI messages that are written here and read again: what of a call a page does not need, but a prompt does. */
import type { Json, JsonObject } from '../core/json.ts';
import type { ModelOutput } from '../core/message.ts';

export type UiPart = JsonObject & { readonly type: string };

/** What the prompt repeats of a call where it is not what is shown. Kept in the part's `toolMetadata`. */
export interface CallNotes {
  /** The arguments as the model wrote them. */
  readonly raw?: Json;
  /** What the model reads in place of the output. */
  readonly modelOutput?: ModelOutput;
  /** The provider runs the call and asks first: the id of its question. */
  readonly approvalId?: string;
  /** A call of a sub-agent: a page decides it, the prompt of the supervisor has only the delegation. */
  readonly isBelow?: true;
}

export function withNotes(notes: CallNotes): { toolMetadata?: JsonObject } {
  return Object.keys(notes).length === 0
    ? {}
    : { toolMetadata: { countersign: notes as unknown as JsonObject } };
}

export function notesOf({ toolMetadata }: UiPart): CallNotes {
  const notes = isObject(toolMetadata) ? toolMetadata.countersign : undefined;
  return isObject(notes) ? (notes as CallNotes) : {};
}

/** How a call that shows `output-denied` came to it: kept in `approval.descriptor`. */
export type Denial = 'declined' | 'unanswered' | 'cancelled';

/** What a suspended call asks, beside its part. */
export function suspendedPart(data: JsonObject & { readonly toolCallId: string }) {
  return { type: 'data-tool-call-suspended' as const, id: data.toolCallId, data };
}

export function isToolPart({ type }: UiPart): boolean {
  return type.startsWith('tool-') || type === 'dynamic-tool';
}

export function toolNameOf({ type, toolName }: UiPart): string {
  return type === 'dynamic-tool' ? String(toolName) : type.slice('tool-'.length);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
