/** `createTool`: the one way to make a tool of your own. */
import { CountersignError } from '../core/errors.ts';
import type { Schema } from '../core/schema.ts';
import { type Tool, type ToolOptions, toolOf } from '../core/tool.ts';
import { distanceOf, type KeysOf } from './known-keys.ts';

const toolKeys = {
  id: true,
  description: true,
  inputSchema: true,
  outputSchema: true,
  suspendSchema: true,
  resumeSchema: true,
  requireApproval: true,
  idempotent: true,
  readOnly: true,
  approver: true,
  autoResume: true,
  strict: true,
  providerOptions: true,
  toModelOutput: true,
  execute: true,
} as const satisfies KeysOf<ToolOptions>;

/**
 * Makes a tool (specification: quickstart).
 * @throws `invalid-tool` for an id that providers refuse, a schema that is none, flags of another type, and keys that
 * are nearly one of ours. Other keys, of other libraries' tools, are kept and mean nothing.
 * @example createTool({ id: 'delete-record', inputSchema: z.object({ id: z.string() }), requireApproval: true, … })
 */
export function createTool<
  Input extends Schema,
  Output extends Schema | undefined = undefined,
  Suspend extends Schema | undefined = undefined,
  Resume extends Schema | undefined = undefined,
>(options: ToolOptions<Input, Output, Suspend, Resume>): Tool & ToolOptions<Input, Output, Suspend, Resume> {
  const tool = toolOf(options as unknown as ToolOptions);
  refuseMisspelt(options);
  return tool as unknown as Tool & ToolOptions<Input, Output, Suspend, Resume>;
}

/** A flag that is misspelt would let calls run that should wait. */
function refuseMisspelt(options: { readonly id: string }): void {
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(toolKeys, key)) continue;
    const meant = meantBy(key);
    if (meant === undefined) continue;
    throw new CountersignError('invalid-tool', `Tool "${options.id}" has no option "${key}".`, {
      toolName: options.id,
      expected: meant,
    });
  }
}

/** The key of ours that it nearly is. Whatever else speaks of approval means `requireApproval`. */
function meantBy(key: string): string | undefined {
  const lower = key.toLowerCase();
  if (lower.includes('approval')) return 'requireApproval';
  return Object.keys(toolKeys).find((name) => name !== 'id' && distanceOf(lower, name.toLowerCase()) <= 2);
}
