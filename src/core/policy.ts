/**
 * Owns the answer to one question: does this call need a person? Decided once, when the model asked for the
 * call, and never in favour of running when anything is unclear.
 */
import type { RequestContext } from './context.ts';
import { CountersignError } from './errors.ts';
import type { Json } from './json.ts';
import type { Message } from './message.ts';
import type { Tool } from './tool.ts';

/** What a run-level policy function is given (specification: conditional approval). */
export interface PolicyCall {
  readonly toolName: string;
  readonly args: SuspendPayload;
  readonly requestContext: Record<string, unknown>;
  readonly workspace: unknown;
}

/** Untyped on purpose: the specification's examples read arguments and payloads without declaring their shape. */
// biome-ignore lint/suspicious/noExplicitAny: the one exported `any`
export type SuspendPayload = any;

export type PolicyFunction = (call: PolicyCall) => boolean | Promise<boolean>;

/** Run-level policies, from the agent's defaults, the run and the runs above it. A hold is never lowered. */
export interface Policies {
  /** `requireToolApproval: true` somewhere, or a policy function that was lost. */
  readonly holdEverything: boolean;
  readonly functions: readonly PolicyFunction[];
}

/** `requireToolApproval` as callers pass it. `false` and `undefined` are the absence of a policy. */
export type PolicyOption = boolean | PolicyFunction | undefined;

/** @throws `invalid-option` for anything but a boolean or a function: what is unclear must not run. */
export function policiesOf(options: readonly PolicyOption[]): Policies {
  for (const option of options) {
    if (option !== undefined && typeof option !== 'boolean' && typeof option !== 'function') {
      throw new CountersignError('invalid-option', 'requireToolApproval is neither boolean nor function.', {
        expected: 'true, false, or ({ toolName, args, requestContext, workspace }) => boolean',
      });
    }
  }
  return {
    holdEverything: options.includes(true),
    functions: options.filter((option) => typeof option === 'function'),
  };
}

/** What the words of run and tool amount to. `own` is the tool's own word, if it gave one. */
export function needsPerson(words: {
  readonly holdEverything: boolean;
  readonly own: boolean | undefined;
  readonly policies: readonly boolean[];
}): boolean {
  if (words.holdEverything) return true;
  if (words.own !== undefined) return words.own;
  return words.policies.includes(true);
}

export interface GatedCall {
  readonly runId: string;
  readonly toolCallId: string;
  messages(): readonly Message[];
  readonly tool: Tool;
  /** The key under which the agent has the tool: policies are asked with each of its names. */
  readonly alias: string;
  readonly input: unknown;
  readonly args: Json;
}

/** Asks everybody who has a word on the call, and no one more. */
export async function isHeld(
  call: GatedCall,
  policies: Policies,
  context: () => RequestContext,
  workspace: unknown,
): Promise<boolean> {
  const { tool, alias } = call;
  if (policies.holdEverything) return true;
  const given = () => ({ requestContext: context().toObject(), workspace });
  const { requireApproval } = tool;
  if (requireApproval !== undefined) {
    const { runId, toolCallId } = call;
    const own =
      typeof requireApproval === 'function'
        ? await askSafely(() =>
            requireApproval(call.input, { ...given(), runId, toolCallId, messages: call.messages() }),
          )
        : requireApproval;
    return needsPerson({ holdEverything: false, own, policies: [] });
  }
  const names = alias === tool.id ? [tool.id] : [tool.id, alias];
  const questions = policies.functions.flatMap((policy) =>
    names.map((toolName) =>
      askSafely(() => policy({ toolName, args: structuredClone(call.args), ...given() })),
    ),
  );
  return needsPerson({ holdEverything: false, own: undefined, policies: await Promise.all(questions) });
}

/** A policy that throws, rejects or answers anything but a boolean holds the call. */
async function askSafely(ask: () => unknown): Promise<boolean> {
  try {
    const answer = await ask();
    return typeof answer === 'boolean' ? answer : true;
  } catch {
    return true;
  }
}
