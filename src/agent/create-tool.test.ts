import { expect, test } from 'vitest';
import { z } from 'zod';
import { isCountersignError } from '../core/errors.ts';
import type { ToolOptions } from '../core/tool.ts';
import { createTool } from './create-tool.ts';

const make = (more: object) => () =>
  createTool({ id: 'refund', inputSchema: z.object({}), ...more } as ToolOptions);

test.each([
  ['requireAproval', 'requireApproval'],
  ['requireapproval', 'requireApproval'],
  ['requiresApproval', 'requireApproval'],
  ['needsApproval', 'requireApproval'],
  ['requireToolApproval', 'requireApproval'],
  ['idempotant', 'idempotent'],
  ['readonly', 'readOnly'],
  ['resumeSchem', 'resumeSchema'],
  ['exeute', 'execute'],
])('the key %s is refused', (key, meant) => {
  try {
    make({ [key]: true })();
    expect.unreachable();
  } catch (error) {
    if (!isCountersignError(error, 'invalid-tool')) throw error;
    expect(error.message).toContain(`"${key}"`);
    expect(error.details.expected).toBe(meant);
  }
});

test('the fields of other libraries are kept', () => {
  const fields = {
    title: 'Refund',
    kind: 'money',
    type: 'function',
    transform: {},
    inputExamples: [],
    mcp: {},
    background: true,
    requestContextSchema: z.object({}),
    onInputStart: () => {},
    onOutput: () => {},
    requireAproval: undefined,
  };
  expect(make(fields)()).toMatchObject({ title: 'Refund', onOutput: fields.onOutput });
});
