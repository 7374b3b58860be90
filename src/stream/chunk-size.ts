import type { Chunk } from './chunk.ts';

/** What a chunk adds to memory: arguments and results are shared, so each counts where it comes first. */
export function sizeOf(item: Chunk): number {
  switch (item.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return 100 + item.payload.text.length;
    case 'tool-call-delta':
      return 100 + item.payload.argsTextDelta.length;
    case 'tool-call':
      return 200 + lengthOf(item.payload.args);
    case 'tool-result':
      return 200 + lengthOf(item.payload.result);
    case 'tool-output':
      return 200 + lengthOf(item.payload.output);
    default:
      return 'data' in item ? 200 + lengthOf(item.data) : 500;
  }
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
