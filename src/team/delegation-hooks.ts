/** What a caller may say of delegations (`delegation: { … }`), each hook once per delegation, never again on resume. */
import { CountersignError, messageOf } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import type { Message, MessageInput } from '../core/message.ts';
import type { Execution } from '../core/parts.ts';
import type { Run } from '../core/state.ts';
import { fromFirstUser } from '../models/prompt.ts';
import { toMessages } from '../models/to-messages.ts';

/** The facts of a delegation that every hook is given. */
export interface DelegationContext {
  /** The key of the sub-agent in `agents`. */
  readonly primitiveId: string;
  readonly primitiveType: 'agent';
  readonly prompt: string;
  /** The supervisor's run, and the call in it. */
  readonly runId: string;
  readonly toolCallId: string;
  readonly parentAgentId: string;
  readonly threadId: string | undefined;
  readonly resourceId: string | undefined;
  /** The step of the supervisor's run, from 0. */
  readonly iteration: number;
  /** The supervisor's conversation up to this delegation. */
  readonly messages: readonly Message[];
}

export interface DelegationStartContext extends DelegationContext {
  readonly params: { readonly instructions?: string | undefined; readonly maxSteps?: number | undefined };
}

export interface DelegationStartAnswer {
  /** `false`: nothing is delegated, and the supervisor's model is told why. */
  readonly proceed?: boolean | undefined;
  readonly rejectionReason?: string | undefined;
  readonly modifiedPrompt?: string | undefined;
  readonly modifiedInstructions?: string | undefined;
  readonly modifiedMaxSteps?: number | undefined;
}

export interface DelegationCompleteContext extends DelegationContext {
  readonly success: boolean;
  readonly result: { readonly text: string };
  readonly error: Error | undefined;
  /** Milliseconds from the start of the sub-agent's run to its end, waits included. */
  readonly duration: number;
  /** The supervisor asks its model no more: its run ends when the calls of this step are settled. */
  bail(): void;
}

export interface DelegationCompleteAnswer {
  /** Told to the supervisor's model beside the result. */
  readonly feedback?: string | undefined;
  /** In place of the sub-agent's text. */
  readonly resultText?: string | undefined;
}

type Answer<T> =
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks returns nothing
  void | undefined | T | Promise<void | undefined | T>;

type GivenMessages = readonly (MessageInput | Message)[];

/** How an agent delegates. A start hook or a filter that throws fails the delegation; nothing is then delegated. */
export interface DelegationOptions {
  /** Asked before a sub-agent begins: may reject, or change what it is told. */
  readonly onDelegationStart?:
    | ((context: DelegationStartContext) => Answer<DelegationStartAnswer>)
    | undefined;
  /** Told when the sub-agent's run has ended, not when it waits. */
  readonly onDelegationComplete?:
    | ((context: DelegationCompleteContext) => Answer<DelegationCompleteAnswer>)
    | undefined;
  /** Which of the supervisor's messages the sub-agent is given before its prompt. Left out: none. */
  readonly messageFilter?:
    | ((context: DelegationContext) => GivenMessages | Promise<GivenMessages>)
    | undefined;
  /** The supervisor's model reads the results of the sub-agent's tools too. */
  readonly includeSubAgentToolResultsInModelContext?: boolean | undefined;
}

/** Whether a value has the shape of `DelegationOptions`. */
export function isDelegationOptions(value: unknown): value is DelegationOptions {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { onDelegationStart, onDelegationComplete, messageFilter, ...others } = value as DelegationOptions;
  const { includeSubAgentToolResultsInModelContext: includes, ...unknown } = others;
  const hooks = [onDelegationStart, onDelegationComplete, messageFilter];
  return (
    hooks.every((hook) => hook === undefined || typeof hook === 'function') &&
    (includes === undefined || typeof includes === 'boolean') &&
    Object.keys(unknown).length === 0
  );
}

/** The result of a delegation, as it is stored. */
export interface DelegationResult {
  readonly text: string;
  /** Where the sub-agent did not stop by itself. */
  readonly finishReason?: string;
  readonly feedback?: string;
  /** The complete hook asked for the end: kept with the result, as another leg may settle the last call of the step. */
  readonly bailed?: true;
  readonly subAgentToolResults?: readonly {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly args: Json;
    readonly result: Json;
  }[];
}

/** Whether a hook asked for the end when a delegation of the run was completed, in whatever leg. */
export function hasBailed(run: Run): boolean {
  return [...run.calls.values()].some(
    ({ child, result }) => child !== undefined && (result as Partial<DelegationResult>)?.bailed === true,
  );
}

interface Delegated {
  readonly key: string;
  readonly execution: Execution;
  readonly prompt: string;
}

/** What the sub-agent is told, or that it is not to be asked. */
export async function started(
  options: DelegationOptions,
  given: Delegated & { readonly instructions?: string | undefined; readonly maxSteps?: number | undefined },
): Promise<
  | { readonly rejected: string }
  | {
      readonly prompt: string;
      readonly instructions: string | undefined;
      readonly maxSteps: number | undefined;
      readonly messages: readonly Message[];
    }
> {
  const context = contextOf(given);
  const { instructions, maxSteps } = given;
  const answer = await options.onDelegationStart?.({ ...context, params: { instructions, maxSteps } });
  checkAnswer('onDelegationStart', answer, {
    proceed: 'boolean',
    rejectionReason: 'string',
    modifiedPrompt: 'string',
    modifiedInstructions: 'string',
    modifiedMaxSteps: 'number',
  });
  if (answer && answer.proceed === false) {
    return { rejected: `[Delegation Rejected] ${answer.rejectionReason ?? 'It was not allowed.'}` };
  }
  const prompt = answer?.modifiedPrompt ?? given.prompt;
  const chosen = await options.messageFilter?.({ ...context, prompt });
  return {
    prompt,
    instructions: answer?.modifiedInstructions ?? instructions,
    maxSteps: answer?.modifiedMaxSteps ?? maxSteps,
    messages: conversationOf(chosen ?? []),
  };
}

/** The result with what the hook makes of it. A hook that throws is reported, and changes nothing. */
export async function completed(
  options: DelegationOptions,
  given: Delegated & { readonly child: Run; bail(): void },
  answer: () => DelegationResult,
): Promise<DelegationResult> {
  let result: DelegationResult = { text: '' };
  let error: Error | undefined;
  try {
    result = answer();
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  }
  const { child, execution } = given;
  let bailed = false;
  const bail = (): void => {
    bailed = true;
    given.bail();
  };
  const told = async () => {
    const answer = await options.onDelegationComplete?.({
      ...contextOf(given),
      success: error === undefined,
      result: { text: result.text },
      error,
      duration: execution.parts.clock.now() - child.started.at,
      bail,
    });
    checkAnswer('onDelegationComplete', answer, { feedback: 'string', resultText: 'string' });
    return answer;
  };
  const changed = await told().catch((thrown: unknown) => {
    execution.parts.warn(`onDelegationComplete threw: ${messageOf(thrown)}`);
  });
  if (error) throw error;
  // A text in place of the sub-agent's is a whole one, wherever that was cut.
  const { finishReason: _ofItsText, ...others } = result;
  return {
    ...(changed?.resultText === undefined ? result : { ...others, text: changed.resultText }),
    ...(changed?.feedback === undefined ? {} : { feedback: changed.feedback }),
    ...(bailed ? { bailed } : {}),
  };
}

/** What is unclear in the answer of a hook must not become a run. @throws `invalid-option`. */
function checkAnswer(
  hook: string,
  answer: unknown,
  types: Readonly<Record<string, 'boolean' | 'string' | 'number'>>,
): void {
  if (answer === undefined || answer === null) return;
  const isRight = ([name, value]: [string, unknown]): boolean =>
    value === undefined ||
    (typeof value === types[name] && (typeof value !== 'number' || (Number.isInteger(value) && value >= 1)));
  if (typeof answer === 'object' && Object.entries(answer).every(isRight)) return;
  throw new CountersignError('invalid-option', `What ${hook} answered is malformed.`, {
    expected: `{ ${Object.entries(types)
      .map(([name, type]) => `${name}?: ${type === 'number' ? 'a whole number from 1' : type}`)
      .join(', ')} }, or nothing`,
  });
}

function contextOf({ key, execution, prompt }: Delegated): DelegationContext {
  const { run, call } = execution;
  const { runId, agentId, threadId, resourceId } = run.started;
  return {
    primitiveId: key,
    primitiveType: 'agent',
    prompt,
    runId,
    toolCallId: call.toolCallId,
    parentAgentId: agentId,
    threadId,
    resourceId,
    iteration: call.request.step,
    messages: execution.parts.messagesOf({ ...run, steps: run.steps.slice(0, call.request.step) }),
  };
}

/**
 * Of messages that were filtered, calls and results may be torn apart: the sub-agent is given what was said, from the
 * first word of the user on, as providers want it.
 */
function conversationOf(given: GivenMessages): Message[] {
  if (!Array.isArray(given)) {
    throw new CountersignError('invalid-option', 'What messageFilter answered is malformed.', {
      expected: 'a list of messages, [] for none',
    });
  }
  return given.length > 0 ? fromFirstUser(toMessages(given).flatMap(whatWasSaid)) : [];
}

function whatWasSaid(message: Message): Message[] {
  if (message.role === 'tool' || message.role === 'system') return [];
  if (typeof message.content === 'string') return [message];
  const said = message.content.filter(({ type }) => type === 'text' || type === 'file' || type === 'image');
  return said.length > 0 ? [{ ...message, content: said }] : [];
}
