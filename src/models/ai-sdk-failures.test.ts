import { APICallError } from 'ai';
import { describe, expect, test } from 'vitest';
import { isCountersignError } from '../core/errors.ts';
import { type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { modelOf } from './ai-sdk.ts';
import type { StreamPartV4 } from './ai-sdk-types.ts';
import { answerTo, failureOf, request } from './test-support/requests.ts';

const overloaded = (headers: Record<string, string> = {}): APICallError =>
  new APICallError({
    message: 'Overloaded',
    url: 'http://provider',
    requestBodyValues: { secret: 'of the prompt' },
    statusCode: 529,
    responseHeaders: headers,
  });

function slept(): { sleep: (milliseconds: number) => Promise<void>; times: number[] } {
  const times: number[] = [];
  return { times, sleep: async (milliseconds) => void times.push(milliseconds) };
}

describe('failures', () => {
  test.each<[string, ScriptStep, string]>([
    ['a thrown error', { error: overloaded() }, 'The model call failed (HTTP 529): Overloaded'],
    ['an error part', { text: 'Well', error: overloaded() }, 'The model call failed (HTTP 529): Overloaded'],
    ['an error part that is text', { text: 'Well', error: 'broken' }, 'The model call failed: broken'],
    [
      'an end by error',
      { text: 'Well', finishReason: 'error' },
      'The model ended its response with an error.',
    ],
    [
      'an end without completion',
      { text: 'Well', finishReason: 'interrupted' },
      'The response of the model ended before it was complete.',
    ],
  ])('%s', async (_, step, message) => {
    const failure = await failureOf(answerTo(step));
    expect(isCountersignError(failure, 'model-failed')).toBe(true);
    expect(failure.message).toBe(message);
  });

  test('the cause is kept, the prompt is not told', async () => {
    const cause = overloaded();
    const failure = await failureOf(answerTo({ error: cause }));
    expect(failure.cause).toBe(cause);
    expect(JSON.stringify(failure)).not.toContain('secret');
  });

  test('an error of the SDK that quotes is told by its name only', async () => {
    const cause = Object.assign(new Error('Type validation failed: Value: {"secret":1}'), {
      name: 'AI_TypeValidationError',
    });
    const failure = await failureOf(answerTo({ error: cause }));
    expect(failure.message).toBe('The model call failed: TypeValidationError.');
  });

  test('a stream that ends without a word', async () => {
    const model = {
      ...scriptedModel(['x']),
      doStream: async () => ({ stream: ReadableStream.from<StreamPartV4>([]) }),
    };
    const failure = await failureOf(modelOf(model).call(request()));
    expect(failure.message).toBe('The response of the model ended before it was complete.');
  });

  test.each(['required', { type: 'tool', toolName: 'weather' }] as const)(
    'no call where %j',
    async (toolChoice) => {
      const failure = await failureOf(answerTo('No.', { toolChoice }));
      expect(failure.code).toBe('model-failed');
      expect(failure.message).toContain('did not contain a');
    },
  );

  test('a call where none may be', async () => {
    const step = { calls: [{ toolName: 'weather', args: {} }] };
    const asked = request({ toolChoice: 'none' });
    const failure = await failureOf(modelOf(scriptedModel([step])).call(asked));
    expect(failure.code).toBe('model-failed');
    expect(asked.deltas).toEqual([]);
  });

  test('a prompt that breaks the rules', async () => {
    const failure = await failureOf(answerTo('x', { messages: [{ role: 'assistant', content: 'Hi' }] }));
    expect(failure.message).toContain('user-first: the conversation begins with a message of the assistant');
  });
});

describe('retries', () => {
  test('overloaded, then success', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel([{ error: overloaded() }, { error: overloaded() }, 'Done.']);
    const response = await modelOf(model, { sleep }).call(request({ maxRetries: 2 }));
    expect(response.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(times).toEqual([2000, 4000]);
  });

  test('as often as allowed and no more', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel(() => ({ error: overloaded() }));
    const failure = await failureOf(modelOf(model, { sleep }).call(request({ maxRetries: 3 })));
    expect(failure.message).toContain('HTTP 529');
    expect(times).toEqual([2000, 4000, 8000]);
    expect(model.calls).toHaveLength(4);
  });

  test('an error part before any output is tried again too', async () => {
    const { sleep, times } = slept();
    const early = { parts: [{ type: 'error', error: overloaded({ 'retry-after': '7' }) }] } as const;
    const response = await modelOf(scriptedModel([early, 'Done.']), { sleep }).call(
      request({ maxRetries: 1 }),
    );
    expect(response.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(times).toEqual([7000]);
  });

  test('parts that carry no output do not stand in the way', async () => {
    const { sleep, times } = slept();
    const started = { type: 'custom', kind: 'anthropic.message_start' } as const;
    const early = { parts: [started, { type: 'error', error: overloaded() }] } as const;
    const model = scriptedModel([early, { parts: [started], text: 'Done.' }]);
    const response = await modelOf(model, { sleep }).call(request({ maxRetries: 1 }));
    expect(response.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(times).toEqual([2000]);
  });

  test('not after a call that the provider may have run', async () => {
    const { sleep, times } = slept();
    const ran = {
      type: 'tool-call',
      toolCallId: 's1',
      toolName: 'search',
      input: '{}',
      providerExecuted: true,
      dynamic: true,
    } as const;
    const model = scriptedModel([{ parts: [ran], error: overloaded() }, 'Done.']);
    await failureOf(modelOf(model, { sleep }).call(request({ maxRetries: 1 })));
    expect(times).toEqual([]);
  });

  test('never after something was passed on', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel([{ text: 'Well', error: overloaded() }, 'Done.']);
    const asked = request({ maxRetries: 2 });
    const failure = await failureOf(modelOf(model, { sleep }).call(asked));
    expect(failure.message).toContain('HTTP 529');
    expect(asked.deltas).toHaveLength(3);
    expect(times).toEqual([]);
    expect(model.calls).toHaveLength(1);
  });

  test('what is not retryable is not tried again', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel([{ error: new Error('no') }, 'Done.']);
    await failureOf(modelOf(model, { sleep }).call(request({ maxRetries: 2 })));
    expect(times).toEqual([]);
    expect(model.calls).toHaveLength(1);
  });
});

describe('abort', () => {
  test('before the call', async () => {
    const model = scriptedModel(['x']);
    const failure = await failureOf(modelOf(model).call(request({ abortSignal: AbortSignal.abort('why') })));
    expect(failure).toMatchObject({
      code: 'model-failed',
      message: 'The model call was aborted.',
      cause: 'why',
    });
    expect(model.calls).toEqual([]);
  });

  test('while a model that does not listen has not answered', async () => {
    const controller = new AbortController();
    const model = {
      ...scriptedModel([]),
      doStream: () => {
        controller.abort('why');
        return new Promise<never>(() => {});
      },
    };
    const failure = await failureOf(modelOf(model).call(request({ abortSignal: controller.signal })));
    expect(failure).toMatchObject({ message: 'The model call was aborted.', cause: 'why' });
  });

  test('an answer that comes after the abort is cancelled', async () => {
    const controller = new AbortController();
    let cancel = (): void => {};
    const cancelled = new Promise<void>((resolve) => {
      cancel = resolve;
    });
    const stream = new ReadableStream<StreamPartV4>({ cancel });
    let answer = (_: { stream: ReadableStream<StreamPartV4> }): void => {};
    const model = {
      ...scriptedModel([]),
      doStream: () => {
        controller.abort('why');
        return new Promise<{ stream: ReadableStream<StreamPartV4> }>((resolve) => {
          answer = resolve;
        });
      },
    };
    await failureOf(modelOf(model).call(request({ abortSignal: controller.signal })));
    answer({ stream });
    await cancelled;
  });

  test('while the stream hangs: it is cancelled', async () => {
    const controller = new AbortController();
    let cancel = (): void => {};
    const cancelled = new Promise<void>((resolve) => {
      cancel = resolve;
    });
    const stream = new ReadableStream<StreamPartV4>({
      start(stream) {
        stream.enqueue({ type: 'text-start', id: 't' });
      },
      cancel,
    });
    const model = { ...scriptedModel([]), doStream: async () => ({ stream }) };
    const asked = request({ abortSignal: controller.signal, onDelta: () => controller.abort('why') });
    expect(await failureOf(modelOf(model).call(asked))).toMatchObject({
      message: 'The model call was aborted.',
    });
    await cancelled;
  });

  test('while it waits for a retry', async () => {
    const controller = new AbortController();
    const sleep = (_: number, signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        controller.abort('why');
      });
    const model = scriptedModel([{ error: overloaded() }, 'x']);
    const asked = request({ maxRetries: 5, abortSignal: controller.signal });
    expect(await failureOf(modelOf(model, { sleep }).call(asked))).toMatchObject({
      message: 'The model call was aborted.',
      cause: 'why',
    });
    expect(model.calls).toHaveLength(1);
  });
});
