import { describe, expect, test } from 'vitest';
import { drive } from '../core/drive.ts';
import { begin, done, partsFor, tool } from '../core/test-support/drive.ts';
import { runStarted } from '../core/test-support/events.ts';
import type { Tool } from '../core/tool.ts';

describe('the model', () => {
  test('is told of the tools, the settings and the choice', async () => {
    const { log } = begin();
    const options = {
      ...runStarted().options,
      activeTools: ['one', 'aliasOfTwo'],
      toolChoice: { type: 'tool', toolName: 'aliasOfTwo' },
      modelSettings: { temperature: 0 },
    } as const;
    const tools = [tool('one'), tool('two', { description: 'Second.' }), tool('three')];
    const named = new Map(
      tools.map((made) => [made.id, { tool: made, alias: `aliasOf${made.id === 'two' ? 'Two' : made.id}` }]),
    );
    const parts = partsFor(tools, [done], { options, tools: named, instructions: 'Be brief.' });
    await drive(log, parts);
    expect(parts.model.requests[0]).toMatchObject({
      instructions: 'Be brief.',
      settings: { temperature: 0 },
      toolChoice: { type: 'tool', toolName: 'two' },
      maxRetries: 0,
      tools: [{ name: 'one' }, { name: 'two', description: 'Second.', inputSchema: { type: 'object' } }],
    });
  });
});

describe('a tool of the provider that it runs unasked', () => {
  const search = {
    ...tool('web_search'),
    execute: undefined,
    provider: { executed: true, tool: {} },
  } as unknown as Tool;
  const asking = { ...search, provider: { executed: true, asksFirst: true, tool: {} } } as Tool;

  test.each([
    ['without a policy', search, {}, true],
    ['when everything is held', search, { holdEverything: true, functions: [] }, false],
    ['beside a policy function', search, { holdEverything: false, functions: [() => false] }, false],
    [
      'when it says no itself',
      { ...search, requireApproval: false },
      { holdEverything: false, functions: [() => true] },
      true,
    ],
    ['when it may need approval', { ...search, requireApproval: () => false }, {}, false],
    ['when the provider asks first', asking, { holdEverything: true, functions: [] }, true],
  ])('is offered or not: %s', async (_, provided, policies, offered) => {
    const { log } = begin();
    const parts = partsFor([provided as Tool], [done], {
      policies: { holdEverything: false, functions: [], ...policies },
    });
    await drive(log, parts);
    expect(parts.model.requests[0]?.tools).toHaveLength(offered ? 1 : 0);
  });
});
