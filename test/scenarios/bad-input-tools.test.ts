/** Bad suspensions, and tools that are others by the time that a person decides. */
import { createTool, type ToolContext, type ToolsInput } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { afterApproval, expectCode, failureOf } from '../support/failing-call.ts';
import { refundCall, refundInput } from '../support/kinds.ts';
import type { Scene } from '../support/scene.ts';
import type { Told } from '../support/told.ts';
import { inEveryWorld, type Open } from '../support/world.ts';

const badSuspensions: Record<string, { execute: (context: ToolContext) => Promise<unknown>; code: string }> =
  {
    'a payload that fails its schema': {
      execute: ({ agent }) => agent.suspend({ question: 5 }),
      code: 'invalid-suspend-payload',
    },
    'a payload that JSON cannot hold': {
      execute: ({ agent }) => agent.suspend({ question: '?', extra: 10n }),
      code: 'invalid-suspend-payload',
    },
    'no payload where the schema wants one': {
      execute: ({ agent }) => (agent.suspend as () => Promise<void>)(),
      code: 'invalid-suspend-payload',
    },
    'a payload above the limit': {
      execute: ({ agent }) => agent.suspend({ question: 'x'.repeat(4 * 1024 * 1024) }),
      code: 'too-large',
    },
    'an error after suspend()': {
      execute: async ({ agent }) => {
        await agent.suspend({ question: '?' });
        throw new Error('it broke');
      },
      code: 'tool-failed',
    },
  };

for (const [name, { execute, code }] of Object.entries(badSuspensions)) {
  inEveryWorld('scenario: K12', `bad input: ${name}: nobody is asked, the call has failed`, async (open) => {
    const suspendSchema = z.looseObject({ question: z.string() });
    const { scene, told } = await afterApproval(open, (_input, context) => execute(context), {
      suspendSchema,
    });
    expectCode(failureOf(scene, told).code, code);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
  });
}

inEveryWorld(
  'scenario: K12',
  'bad input: suspended twice, and something returned: the first payload counts',
  async (open) => {
    const { told } = await afterApproval(open, async (_input, { agent }) => {
      await agent.suspend({ question: 'first' });
      await agent.suspend({ question: 'second' });
      return { refunded: 1 };
    });
    expect(told.payloads).toMatchObject([{ stop: 2, suspendPayload: { question: 'first' } }]);
    expect(told.results).toEqual([]);
  },
);

/** A held refund, decided by an agent whose tools are others by now. */
async function decidedAfterDeployment(open: Open, now: ToolsInput): Promise<{ scene: Scene; told: Told }> {
  const before = createTool({
    id: 'refund',
    inputSchema: refundInput,
    requireApproval: true,
    execute: async () => 1,
  });
  let tools: ToolsInput = { refund: before };
  const scene = open({ script: [{ calls: [refundCall('a')] }, 'Sorry.'], tools: () => tools });
  const { runId } = await scene.start();
  tools = now;
  return { scene, told: await scene.approve(runId) };
}

const deployments: Record<string, { tools: (ran: () => void) => ToolsInput; code: string | undefined }> = {
  'is called otherwise': {
    tools: (ran) => ({ refund: createTool({ id: 'pay-back', inputSchema: refundInput, execute: ran }) }),
    code: 'tool-not-found',
  },
  'is gone': { tools: () => ({}), code: 'tool-not-found' },
  'wants another field': {
    tools: (ran) => ({
      refund: createTool({
        id: 'refund',
        inputSchema: refundInput.extend({ currency: z.string() }),
        execute: ran,
      }),
    }),
    code: 'tool-changed',
  },
  'adds a default': {
    tools: (ran) => ({
      refund: createTool({
        id: 'refund',
        inputSchema: refundInput.extend({ currency: z.string().default('EUR') }),
        execute: ran,
      }),
    }),
    code: 'tool-changed',
  },
  'counts in cents': {
    tools: (ran) => ({
      refund: createTool({
        id: 'refund',
        inputSchema: refundInput.extend({ amount: z.number().transform((amount) => amount * 100) }),
        execute: ran,
      }),
    }),
    code: 'tool-changed',
  },
  'is described otherwise': {
    tools: (ran) => ({
      refund: createTool({ id: 'refund', description: 'New.', inputSchema: refundInput, execute: ran }),
    }),
    code: undefined,
  },
};

for (const [name, { tools, code }] of Object.entries(deployments)) {
  inEveryWorld('scenario: K13', `bad input: a tool that since ${name}`, async (open) => {
    let runs = 0;
    const { scene, told } = await decidedAfterDeployment(
      open,
      tools(() => void runs++),
    );
    expect(runs).toBe(code === undefined ? 1 : 0);
    if (code === undefined) expect(told.text).toBe('Sorry.');
    else expectCode(failureOf(scene, told).code, code);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
  });
}
