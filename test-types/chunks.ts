/** The types of chunks: a closed set of literals, and `data-…` for one's own. */
import type { AgentStream, ApprovalPayload, Chunk, SuspensionPayload } from 'countersign';
import { expectTypeOf } from 'vitest';

declare const chunk: Chunk;
type ChunkType = Chunk['type'];

expectTypeOf<Exclude<ChunkType, `data-${string}`>>().toEqualTypeOf<
  | 'start'
  | 'step-start'
  | 'text-start'
  | 'text-delta'
  | 'text-end'
  | 'reasoning-start'
  | 'reasoning-delta'
  | 'reasoning-end'
  | 'source'
  | 'file'
  | 'reasoning-file'
  | 'custom'
  | 'tool-call-input-streaming-start'
  | 'tool-call-delta'
  | 'tool-call-input-streaming-end'
  | 'tool-call'
  | 'tool-call-approval'
  | 'tool-call-suspended'
  | 'tool-result'
  | 'tool-error'
  | 'tool-output-denied'
  | 'tool-output'
  | 'step-finish'
  | 'finish'
  | 'error'
  | 'abort'
>();
expectTypeOf<Extract<ChunkType, `data-${string}`>>().toEqualTypeOf<`data-${string}`>();

// A type that does not exist does not compile.
// @ts-expect-error: misspelt
chunk.type === 'tool-call-aproval';
// @ts-expect-error: another product's name
chunk.type === 'tool-approval-request';
// @ts-expect-error: not every string
chunk.type === '';
chunk.type === 'data-progress';

export async function read({ fullStream }: AgentStream): Promise<void> {
  for await (const part of fullStream) {
    expectTypeOf(part).toEqualTypeOf<Chunk>();
    switch (part.type) {
      case 'tool-call-approval':
        expectTypeOf(part.payload).toEqualTypeOf<ApprovalPayload>();
        expectTypeOf(part.payload.stop).toEqualTypeOf<number>();
        expectTypeOf(part.payload.fingerprint).toEqualTypeOf<string>();
        expectTypeOf(part.payload.args).toBeAny();
        // @ts-expect-error: that is what a suspension has
        part.payload.suspendPayload;
        break;
      case 'tool-call-suspended':
        expectTypeOf(part.payload).toEqualTypeOf<SuspensionPayload>();
        expectTypeOf(part.payload.suspendPayload).toBeAny();
        break;
      case 'text-delta':
        expectTypeOf(part.payload.text).toEqualTypeOf<string>();
        break;
      case 'tool-result':
        expectTypeOf(part.payload.result).toBeAny();
        break;
      case 'tool-output-denied':
        expectTypeOf(part.payload.approval.reason).toEqualTypeOf<string | undefined>();
        break;
      case 'error':
        expectTypeOf(part.payload.error).toEqualTypeOf<Error>();
        break;
      // @ts-expect-error: no chunk has this type
      case 'tool-calls':
        break;
    }
    if (part.type === 'tool-call-approval' || part.type === 'tool-call-suspended') {
      expectTypeOf(part.payload.toolCallId).toEqualTypeOf<string>();
    } else if (!('payload' in part)) {
      expectTypeOf(part.type).toEqualTypeOf<`data-${string}`>();
    }
    expectTypeOf(part.runId).toEqualTypeOf<string>();
  }
}

// Each literal is a discriminant of its own, for `Extract` too.
type ChunkOf<Type extends ChunkType> = Extract<Chunk, { type: Type }>;
type NotExtractable = {
  [Type in Exclude<ChunkType, `data-${string}`>]: [ChunkOf<Type>] extends [never] ? Type : never;
}[Exclude<ChunkType, `data-${string}`>];
expectTypeOf<NotExtractable>().toEqualTypeOf<never>();
