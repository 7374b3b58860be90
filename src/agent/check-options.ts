/** Whether options are what they must be: known keys, values of the right form. What is unclear must not run. */
import type { ToolHooks } from '../core/parts.ts';
import { isDelegationOptions } from '../team/delegation-hooks.ts';
import { expectedId, isId } from './ids.ts';
import { checkKeys, type KeysOf } from './known-keys.ts';
import { checkMemoryOptions } from './memory.ts';
import {
  type CancelOptions,
  type ContinueOptions,
  type ConversationOption,
  type DecisionOptions,
  type LegOptions,
  type ResolveOptions,
  type RunMemory,
  type RunOptions,
  type ThreadInput,
  threadOf,
} from './options.ts';
import { refuseOption } from './refuse-option.ts';
import { isStopWhen } from './stop-when.ts';
import { checkStructuredOutput } from './structured-output.ts';
import { isToolsets } from './tools.ts';

/** Which keys each method takes. An option that is not here does not compile. */
const legKeys = {
  requireToolApproval: true,
  hooks: true,
  delegation: true,
  requestContext: true,
  model: true,
  instructions: true,
  toolsets: true,
  activeTools: true,
  toolChoice: true,
  stopWhen: true,
  structuredOutput: true,
  modelSettings: true,
  providerOptions: true,
  waitUntil: true,
  abortSignal: true,
  onChunk: true,
  onStepFinish: true,
  onFinish: true,
  onError: true,
} as const satisfies KeysOf<LegOptions>;

const decisionKeys = {
  ...legKeys,
  memory: true,
  runId: true,
  toolCallId: true,
  stop: true,
  fingerprint: true,
  reason: true,
  decisionId: true,
  by: true,
  via: true,
} as const satisfies KeysOf<DecisionOptions>;

export const optionKeys = {
  leg: legKeys,
  run: {
    ...legKeys,
    maxSteps: true,
    toolCallConcurrency: true,
    maxRetries: true,
    durable: true,
    autoResumeSuspendedTools: true,
    runId: true,
    memory: true,
  } satisfies KeysOf<RunOptions>,
  decision: decisionKeys,
  resolve: { ...decisionKeys, runAgain: true, output: true, error: true } satisfies KeysOf<ResolveOptions>,
  continue: { ...legKeys, memory: true, runId: true, by: true } satisfies KeysOf<ContinueOptions>,
  cancel: { runId: true, reason: true, by: true } satisfies KeysOf<CancelOptions>,
} as const;

/** @throws `invalid-option` naming the option and what was expected. */
export function checkOptions(options: RunOptions): void {
  for (const name of ['maxSteps', 'toolCallConcurrency'] as const) {
    const value = options[name];
    if (value !== undefined && (!Number.isInteger(value) || value < 1))
      refuseOption(name, 'a whole number from 1');
  }
  const { maxRetries, activeTools, toolsets, requestContext, runId, memory, abortSignal, hooks, toolChoice } =
    options;
  const { delegation, autoResumeSuspendedTools } = options;
  if (maxRetries !== undefined && (!Number.isInteger(maxRetries) || maxRetries < 0)) {
    refuseOption('maxRetries', 'a whole number from 0');
  }
  if (
    activeTools !== undefined &&
    !(Array.isArray(activeTools) && activeTools.every((id) => typeof id === 'string'))
  ) {
    refuseOption('activeTools', 'a list of tool ids');
  }
  if (toolsets !== undefined && !isToolsets(toolsets)) {
    refuseOption('toolsets', '{ name: { key: tool, … }, … }');
  }
  if (autoResumeSuspendedTools !== undefined && typeof autoResumeSuspendedTools !== 'boolean') {
    refuseOption('autoResumeSuspendedTools', 'true or false');
  }
  checkStructuredOutput(options.structuredOutput);
  if (options.stopWhen !== undefined && !isStopWhen(options.stopWhen)) {
    refuseOption('stopWhen', 'a function, or a list of functions: ({ steps }) => boolean');
  }
  if (requestContext !== undefined && typeof requestContext?.entries !== 'function') {
    refuseOption('requestContext', 'a RequestContext');
  }
  if (runId !== undefined && !isId(runId)) refuseOption('runId', expectedId);
  if (abortSignal !== undefined && !(abortSignal instanceof AbortSignal))
    refuseOption('abortSignal', 'an AbortSignal');
  if (hooks !== undefined) checkHooks(hooks);
  if (delegation !== undefined && !isDelegationOptions(delegation)) {
    refuseOption(
      'delegation',
      '{ onDelegationStart?, onDelegationComplete?, messageFilter? }, all functions, and ' +
        'includeSubAgentToolResultsInModelContext?, a boolean',
    );
  }
  for (const name of ['onChunk', 'onStepFinish', 'onFinish', 'onError', 'waitUntil'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') refuseOption(name, 'a function');
  }
  const isNamed =
    typeof toolChoice === 'object' && toolChoice?.type === 'tool' && typeof toolChoice.toolName === 'string';
  if (toolChoice !== undefined && !isNamed && !['auto', 'none', 'required'].includes(toolChoice as string)) {
    refuseOption('toolChoice', "'auto', 'none', 'required' or { type: 'tool', toolName }");
  }
  if (memory === undefined) return;
  checkConversation(memory);
  if (memory.thread === undefined ? memory.resource === undefined : threadOf(memory) === undefined) {
    refuseOption('memory', 'thread: id or { id, title?, metadata? }; or a resource without a thread');
  }
  if (memory.options !== undefined) checkMemoryOptions(memory.options);
}

const hookKeys = { beforeToolCall: true, afterToolCall: true } as const satisfies KeysOf<ToolHooks>;

/** A misspelt hook would let pass what it was to look at. @throws `invalid-option`. */
export function checkHooks(hooks: ToolHooks): void {
  checkKeys(hooks, hookKeys, 'hooks');
  for (const hook of Object.values(hooks)) {
    if (hook === undefined || typeof hook === 'function') continue;
    refuseOption('hooks', '{ beforeToolCall?, afterToolCall? }, functions');
  }
}

const memoryKeys = { thread: true, resource: true, options: true } as const satisfies KeysOf<RunMemory>;
const threadKeys = { id: true, title: true, metadata: true } as const satisfies KeysOf<ThreadInput>;

/** A misspelt resource would be nobody's, or in a decision everybody's. @throws `invalid-option`. */
export function checkConversation(memory: NonNullable<ConversationOption['memory']>): void {
  checkKeys(memory, memoryKeys, 'memory');
  const { thread, resource } = memory;
  if (thread !== undefined && typeof thread !== 'string') checkKeys(thread, threadKeys, 'memory.thread');
  const id: unknown = typeof thread === 'object' ? thread.id : thread;
  if ((thread === undefined || isId(id)) && (resource === undefined || isId(resource))) return;
  refuseOption('memory', '{ thread: id or { id, title?, metadata? }, resource?: id, options? }');
}

/** The id of a run that begins: ids of runs below it are made with `~`, of approvals with `::`. @throws `invalid-option`. */
export function checkNewRunId(runId: string | undefined): void {
  if (runId === undefined || !/~|::|:$/.test(runId)) return;
  refuseOption('runId', 'an id without "~" and "::", which join ids, and without ":" at its end');
}
