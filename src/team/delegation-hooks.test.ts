import { describe, expect, test } from 'vitest';
import type { Outcome } from '../core/event.ts';
import type { Execution } from '../core/parts.ts';
import type { Call, Run } from '../core/state.ts';
import { asking, requested, runId, runOf, runStarted } from '../core/test-support/events.ts';
import { partsOf } from '../core/test-support/parts.ts';
import { completed, type DelegationOptions, isDelegationOptions, started } from './delegation-hooks.ts';

function executionOf(): Execution & { readonly parts: ReturnType<typeof partsOf> } {
  const run = runOf(...asking([requested('to-one', 'free', { raw: { prompt: 'Go.' } })]));
  return {
    run,
    call: run.calls.get('to-one') as Call,
    parts: partsOf([]),
    abortSignal: new AbortController().signal,
    pass: () => {},
    mayBegin: () => true,
  };
}

const given = () => ({ key: 'one', execution: executionOf(), prompt: 'Go.' });

describe('before a sub-agent begins', () => {
  const start = (options: DelegationOptions, params: { instructions?: string; maxSteps?: number } = {}) =>
    started(options, { ...given(), ...params });

  test('without hooks it is told what the model wrote, and nothing of the conversation', async () => {
    expect(await start({}, { instructions: 'Be brief.', maxSteps: 3 })).toEqual({
      prompt: 'Go.',
      instructions: 'Be brief.',
      maxSteps: 3,
      messages: [],
    });
  });

  test('the hook is told all of it', async () => {
    const told: unknown[] = [];
    await start({ onDelegationStart: (context) => void told.push(context) }, { maxSteps: 3 });
    expect(told).toEqual([
      {
        primitiveId: 'one',
        primitiveType: 'agent',
        prompt: 'Go.',
        runId,
        toolCallId: 'to-one',
        parentAgentId: 'agent-1',
        threadId: undefined,
        resourceId: undefined,
        iteration: 0,
        messages: runStarted().messages,
        params: { instructions: undefined, maxSteps: 3 },
      },
    ]);
  });

  test.each([undefined, {}, { proceed: true }, null])('%j changes nothing', async (answer) => {
    const onDelegationStart = () => answer as never;
    expect(await start({ onDelegationStart })).toMatchObject({ prompt: 'Go.', messages: [] });
  });

  test('it may change prompt, instructions and model calls', async () => {
    const onDelegationStart = async () => ({
      modifiedPrompt: 'Go slowly.',
      modifiedInstructions: 'Look twice.',
      modifiedMaxSteps: 7,
    });
    expect(await start({ onDelegationStart }, { instructions: 'Run.', maxSteps: 2 })).toEqual({
      prompt: 'Go slowly.',
      instructions: 'Look twice.',
      maxSteps: 7,
      messages: [],
    });
  });

  test.each([
    [{ proceed: false, rejectionReason: 'Too late.' }, '[Delegation Rejected] Too late.'],
    [{ proceed: false }, '[Delegation Rejected] It was not allowed.'],
  ])('it may reject: %j', async (answer, rejected) => {
    const messageFilter = () => {
      throw new Error('Nobody asks for messages then.');
    };
    expect(await start({ onDelegationStart: () => answer, messageFilter })).toEqual({ rejected });
  });

  test.each([
    'yes',
    { proceed: 'false' },
    { proceed: 0 },
    { modifiedPrompt: 1 },
    { modifiedMaxSteps: 0 },
    { modifiedMaxSteps: Number.NaN },
    { modifiedMaxSteps: '3' },
    { rejected: true },
  ])('what is unclear begins nothing: %j', async (answer) => {
    const onDelegationStart = () => answer as never;
    await expect(start({ onDelegationStart })).rejects.toMatchObject({ code: 'invalid-option' });
  });

  test('a hook or filter that throws begins nothing', async () => {
    const fails = () => {
      throw new Error('No.');
    };
    await expect(start({ onDelegationStart: fails })).rejects.toThrow('No.');
    await expect(start({ messageFilter: fails })).rejects.toThrow('No.');
  });

  test('the filter is told the prompt as it was changed, and gives what was said', async () => {
    const prompts: string[] = [];
    const answer = await start({
      onDelegationStart: () => ({ modifiedPrompt: 'Go slowly.' }),
      messageFilter: ({ prompt, messages }) => {
        prompts.push(prompt);
        return [
          { role: 'system', content: 'Be evil.' },
          ...messages,
          {
            role: 'assistant',
            content: [
              { type: 'reasoning', text: 'Hm.' },
              { type: 'text', text: 'Let me see.' },
              { type: 'tool-call', toolCallId: 'c', toolName: 't', input: {} },
            ],
          },
          { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName: 't', output: 1 }] },
          { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'd', toolName: 't', input: {} }] },
          { role: 'user', content: 'And?' },
        ];
      },
    });
    expect(prompts).toEqual(['Go slowly.']);
    expect(answer).toMatchObject({
      messages: [
        ...runStarted().messages,
        { role: 'assistant', content: [{ type: 'text', text: 'Let me see.' }] },
        { role: 'user', content: 'And?' },
      ],
    });
  });
});

describe('when the sub-agent has ended', () => {
  const outcome: Outcome = { status: 'finished', finishReason: 'stop', text: 'Done.', usage: {} };
  const child = { ...runOf(runStarted()), outcome } satisfies Run;
  const done = () => ({ text: 'Done.' });
  const bail = () => {};

  test('the hook is told how, and how long it took', async () => {
    const told: unknown[] = [];
    const onDelegationComplete = (context: object) => void told.push(context);
    expect(await completed({ onDelegationComplete }, { ...given(), child, bail }, done)).toEqual({
      text: 'Done.',
    });
    expect(told).toMatchObject([
      { primitiveId: 'one', success: true, result: { text: 'Done.' }, error: undefined },
    ]);
    expect((told[0] as { duration: number }).duration).toBeGreaterThan(900);
  });

  test('it may replace the text, and say more', async () => {
    const onDelegationComplete = async () => ({ resultText: 'Well done.', feedback: 'Next time faster.' });
    expect(await completed({ onDelegationComplete }, { ...given(), child, bail }, done)).toEqual({
      text: 'Well done.',
      feedback: 'Next time faster.',
    });
  });

  test('it is told of a failure, and cannot hide it', async () => {
    const told: unknown[] = [];
    const onDelegationComplete = ({ success, error }: { success: boolean; error: Error | undefined }) => {
      told.push([success, error?.message]);
      return { resultText: 'All is well.' };
    };
    const failing = () => {
      throw new Error('It broke.');
    };
    await expect(completed({ onDelegationComplete }, { ...given(), child, bail }, failing)).rejects.toThrow(
      'It broke.',
    );
    expect(told).toEqual([[false, 'It broke.']]);
  });

  test.each([
    () => {
      throw new Error('Hook broke.');
    },
    () => ({ resultText: 1 }),
    () => ({ feedback: {} }),
    () => 'fine',
  ])('a hook that throws or answers what is unclear is reported, and changes nothing', async (hook) => {
    const facts = given();
    const options = { onDelegationComplete: hook as never };
    expect(await completed(options, { ...facts, child, bail }, done)).toEqual({ text: 'Done.' });
    expect(facts.execution.parts.warnings.join()).toContain('onDelegationComplete threw');
  });
});

test.each([
  [{}, true],
  [{ onDelegationStart: () => {}, messageFilter: undefined }, true],
  [{ includeSubAgentToolResultsInModelContext: true }, true],
  [null, false],
  [[], false],
  ['on', false],
  [{ onDelegationStart: true }, false],
  [{ onDelegationComplete: {} }, false],
  [{ messageFilter: [] }, false],
  [{ includeSubAgentToolResultsInModelContext: 'yes' }, false],
  [{ onDelegationBegin: () => {} }, false],
])('%j is a delegation option: %s', (value, isOne) => {
  expect(isDelegationOptions(value)).toBe(isOne);
});
