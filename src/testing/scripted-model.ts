/** A model for tests: it answers call by call what a script says, and refuses prompts that real providers refuse. */
import type {
  CallOptionsV4,
  GenerateResultV4,
  LanguageModelV4,
  PromptV4,
  ProviderMetadataV4,
  StreamPartV4,
  StreamResultV4,
} from '../models/ai-sdk-types.ts';
import { orAborted } from '../models/or-aborted.ts';
import { checkPrompt, type PromptRules } from './check-prompt.ts';

/** A call that the scripted model asks for. */
export interface ScriptedCall {
  readonly toolName: string;
  /** The arguments, any JSON. Left out, they are `{}`. */
  readonly args?: unknown;
  /** The arguments as raw text instead, for instance text that is no JSON. */
  readonly argsText?: string | undefined;
  /** Left out, it is `call-<number of the model call>-<number of the call in it>`, counted from 0. */
  readonly toolCallId?: string | undefined;
}

/** One answer. The parts come in this order: reasoning, text, calls, error. */
export interface ScriptedStep {
  readonly reasoning?: string | undefined;
  readonly text?: string | undefined;
  readonly calls?: readonly ScriptedCall[] | undefined;
  /** Any further parts of the AI SDK's stream, as they are, after the calls. */
  readonly parts?: readonly StreamPartV4[] | undefined;
  /** Left out: `tool-calls` with calls, else `stop`. */
  readonly finishReason?: Extract<StreamPartV4, { type: 'finish' }>['finishReason']['unified'] | undefined;
  /** The answer fails: after its other parts, or, where there are none, before the stream begins. */
  readonly error?: unknown;
  /** In tokens. Left out, 10 in and 5 out. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
  /** The answer begins when this has settled. Aborting the call ends the wait. */
  readonly delayUntil?: PromiseLike<unknown> | undefined;
}

/** A string is a text answer. */
export type ScriptStep = string | ScriptedStep;

/** The answers in order, or a function that is asked for each. */
export type Script =
  | readonly ScriptStep[]
  | ((
      prompt: PromptV4,
      callIndex: number,
      tools: NonNullable<CallOptionsV4['tools']>,
    ) => ScriptStep | Promise<ScriptStep>);

export interface ScriptedModelOptions {
  /** The provider whose rules every prompt must keep. Default `'all'`. */
  readonly check?: PromptRules | false | undefined;
  readonly provider?: string | undefined;
  readonly modelId?: string | undefined;
}

/** What `scriptedModel` returns: a model object of the AI SDK, with the calls that it was given. */
export interface ScriptedModel extends LanguageModelV4 {
  /** The options of each call, in order: `prompt`, `tools`, `toolChoice` and the rest. */
  readonly calls: readonly CallOptionsV4[];
}

/**
 * Makes a model that answers by a script. A call fails with a plain error when the script has run out, and when
 * the prompt breaks a rule of `checkPrompt`.
 * @example new Agent({ id: 'a', model: scriptedModel([{ calls: [{ toolName: 'refund', args: { id: 1 } }] }, 'Done.']) })
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const { check = 'all', provider = 'scripted', modelId = 'scripted' } = options;
  const calls: CallOptionsV4[] = [];
  const reasoned = new Set<string>();

  const answer = async (call: CallOptionsV4): Promise<StreamPartV4[]> => {
    const index = calls.push(call) - 1;
    const broken =
      check === false ? [] : [...checkPrompt(call.prompt, check), ...unsigned(call.prompt, reasoned)];
    if (broken.length > 0) {
      throw new Error(`The prompt of model call ${index} breaks rules of providers: ${broken.join('; ')}`);
    }
    const step = await stepOf(script, call, index);
    if (step.reasoning !== undefined) reasoned.add(step.reasoning);
    if (step.delayUntil) await orAborted(step.delayUntil, call.abortSignal);
    const parts = [...outputOf(step, index)];
    if (step.error !== undefined && parts.length === 0) throw step.error;
    return [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: `response-${index}`, modelId, timestamp: new Date(0) },
      ...parts,
      step.error === undefined ? finishOf(step) : { type: 'error', error: step.error },
    ];
  };

  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    calls,
    async doStream(call): Promise<StreamResultV4> {
      return { stream: streamOf(await answer(call), call.abortSignal) };
    },
    async doGenerate(call): Promise<GenerateResultV4> {
      return generated(await answer(call));
    },
  };
}

/** Reasoning of this model that came back without any options: `checkPrompt` cannot know whose it was. */
function unsigned(prompt: PromptV4, reasoned: ReadonlySet<string>): string[] {
  return prompt.flatMap((message, index) =>
    message.role !== 'assistant'
      ? []
      : message.content
          .filter((part) => part.type === 'reasoning' && reasoned.has(part.text))
          .filter((part) => part.providerOptions?.scripted === undefined)
          .map(() => `reasoning-signed: reasoning of message ${index} has lost its scripted signature`),
  );
}

async function stepOf(script: Script, call: CallOptionsV4, index: number): Promise<ScriptedStep> {
  const step =
    typeof script === 'function' ? await script(call.prompt, index, call.tools ?? []) : script[index];
  if (step === undefined) {
    throw new Error(
      typeof script === 'function'
        ? `The script returned nothing for model call ${index}.`
        : `The script has ${script.length} answers, and this is model call ${index} (counted from 0).`,
    );
  }
  return typeof step === 'string' ? { text: step } : step;
}

function* outputOf(step: ScriptedStep, index: number): Generator<StreamPartV4> {
  if (step.reasoning !== undefined) {
    const id = `reasoning-${index}`;
    // A signature, as Anthropic has it: whoever loses it on the way breaks a rule of `checkPrompt`.
    const providerMetadata: ProviderMetadataV4 = { scripted: { signature: `signature-${index}` } };
    yield { type: 'reasoning-start', id };
    for (const delta of piecesOf(step.reasoning)) yield { type: 'reasoning-delta', id, delta };
    yield { type: 'reasoning-end', id, providerMetadata };
  }
  if (step.text !== undefined) {
    const id = `text-${index}`;
    yield { type: 'text-start', id };
    for (const delta of piecesOf(step.text)) yield { type: 'text-delta', id, delta };
    yield { type: 'text-end', id };
  }
  for (const [position, call] of (step.calls ?? []).entries()) {
    const { toolName, args = {}, argsText, toolCallId: id = `call-${index}-${position}` } = call;
    const input = argsText ?? JSON.stringify(args);
    yield { type: 'tool-input-start', id, toolName };
    for (const delta of piecesOf(input)) yield { type: 'tool-input-delta', id, delta };
    yield { type: 'tool-input-end', id };
    yield { type: 'tool-call', toolCallId: id, toolName, input };
  }
  yield* step.parts ?? [];
}

/** Words with the space after them: splitting anywhere else could cut a character in two. */
function piecesOf(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

function finishOf(step: ScriptedStep): Extract<StreamPartV4, { type: 'finish' }> {
  const { usage = { inputTokens: 10, outputTokens: 5 } } = step;
  const unified = step.finishReason ?? (step.calls?.length ? 'tool-calls' : 'stop');
  return {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: {
        total: usage.inputTokens,
        noCache: usage.inputTokens,
        cacheRead: undefined,
        cacheWrite: undefined,
      },
      outputTokens: { total: usage.outputTokens, text: usage.outputTokens, reasoning: undefined },
    },
  };
}

function streamOf(
  parts: readonly StreamPartV4[],
  signal: AbortSignal | undefined,
): ReadableStream<StreamPartV4> {
  let position = 0;
  return new ReadableStream({
    pull(controller) {
      if (signal?.aborted) return controller.error(signal.reason);
      const part = parts[position++];
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}

/** The parts of a stream as one result, for `generateText` and others that do not stream. */
function generated(parts: readonly StreamPartV4[]): GenerateResultV4 {
  const content: GenerateResultV4['content'] = [];
  const finish = parts.find((part) => part.type === 'finish');
  for (const part of parts) {
    switch (part.type) {
      case 'text-start':
        content.push({ type: 'text', text: '' });
        break;
      case 'reasoning-start':
        content.push({ type: 'reasoning', text: '' });
        break;
      case 'text-delta':
      case 'reasoning-delta':
        addTo(content, { delta: part.delta });
        break;
      case 'reasoning-end':
        addTo(content, { providerMetadata: part.providerMetadata });
        break;
      case 'error':
        throw part.error;
      case 'tool-call':
      case 'tool-result':
      case 'tool-approval-request':
      case 'file':
      case 'reasoning-file':
      case 'source':
      case 'custom':
        content.push(part);
    }
  }
  if (finish === undefined) throw new Error('The parts of the script hold no finish part.');
  return { content, finishReason: finish.finishReason, usage: finish.usage, warnings: [] };
}

function addTo(
  content: GenerateResultV4['content'],
  more: { delta?: string; providerMetadata?: ProviderMetadataV4 | undefined },
): void {
  const last = content.at(-1);
  if (last?.type !== 'text' && last?.type !== 'reasoning') return;
  last.text += more.delta ?? '';
  if (more.providerMetadata) last.providerMetadata = more.providerMetadata;
}
