/** One refund whose call fails, and what is told of it. */
import { createTool, type ToolContext } from 'countersign';
import { expect } from 'vitest';
import { type Refund, refundCall, refundInput, resultsIn } from './kinds.ts';
import type { Scene } from './scene.ts';
import { ofType, type Told } from './told.ts';
import type { Open } from './world.ts';

/** The code and the words of the one call that failed, as the reader and the model are told. */
export function failureOf(scene: Scene, told: Told): { code: string | undefined; message: string } {
  expect(told.finishReason).toBe('stop');
  const result = resultsIn(scene.model.calls.at(-1)?.prompt)['call-0-0'];
  expect(result?.type).toBe('error-text');
  const [chunk] = ofType(told.chunks, 'tool-error');
  if (told.chunks) expect(chunk?.payload.error.message).toBe(result?.value);
  return { code: chunk?.payload.error.code, message: String(result?.value) };
}

/** Where nothing is streamed, the words are all there is. */
export function expectCode(code: string | undefined, expected: string): void {
  if (code !== undefined) expect(code).toBe(expected);
}

/** A held call whose execution does this, approved. */
export async function afterApproval(
  open: Open,
  execute: (input: Refund, context: ToolContext) => unknown,
  more: object = {},
): Promise<{ scene: Scene; told: Told }> {
  const refund = createTool({
    id: 'refund',
    inputSchema: refundInput,
    requireApproval: true,
    execute: async (input, context) => execute(input, context as unknown as ToolContext) as object,
    ...more,
  });
  const scene = open({ script: [{ calls: [refundCall('a')] }, 'Sorry.'], tools: { refund } });
  const { runId } = await scene.start();
  const told = await scene.approve(runId);
  return { scene, told };
}
