/** K5: the flag is lost on no path. */
import { tool } from 'ai';
import { type AgentConfig, createTool, type PolicyCall, type PolicyOption } from 'countersign';
import { expect } from 'vitest';
import { approveAndCarryOut, askRefunds, kinds, type Refund, refundInput } from '../support/kinds.ts';
import { openScene } from '../support/scene.ts';
import { prepareStages } from '../support/stages.ts';
import { inBothFaces, inEveryWorld, inOneWorld, worlds } from '../support/world.ts';

/** Who says that the call needs a person. */
const words: Record<string, { own: boolean; agent?: PolicyOption; run?: PolicyOption }> = {
  'the tool': { own: true },
  'the run': { own: false, run: true },
  'a function of the run': { own: false, run: ({ toolName }) => toolName === 'refund' },
  'an asynchronous function of the run': { own: false, run: async ({ args }) => args.amount > 5 },
  'the agent’s defaults': { own: false, agent: true },
  'a function in the agent’s defaults': { own: false, agent: ({ toolName }) => toolName === 'refund' },
  'the tool, though the run says false': { own: true, run: false },
  'the tool, though a function of the run says false': { own: true, run: () => false },
  'the agent’s defaults, though the run says false': { own: false, agent: true, run: false },
  'the agent’s defaults, though a function of the run says false': {
    own: false,
    agent: true,
    run: () => false,
  },
  'a function of the agent’s defaults, though the run’s says false': {
    own: false,
    agent: () => true,
    run: () => false,
  },
  'a function of the run, though the agent’s defaults say false': {
    own: false,
    agent: false,
    run: () => true,
  },
};

/** These three are tried in every world; how the others combine is decided before a store or a restart matters. */
const everywhere = new Set(['the tool', 'the run', 'a function of the run']);

for (const kind of kinds) {
  for (const [name, { own, agent, run }] of Object.entries(words)) {
    const defaults = agent === undefined ? {} : { defaultOptions: { requireToolApproval: agent } };
    const inWorlds = everywhere.has(name) ? inEveryWorld : inBothFaces;
    inWorlds('scenario: K5', `held by ${name} (${kind.name})`, async (open) => {
      const effects: Refund[] = [];
      const scene = open({
        script: [askRefunds('a'), 'Done.'],
        tools: kind.tools(effects, own),
        agent: defaults,
        ...(run === undefined ? {} : { options: { requireToolApproval: run } }),
      });
      const started = await scene.start();
      expect(started.finishReason).toBe('suspended');
      expect(started.payloads).toHaveLength(1);
      expect(started.payloads[0]).toMatchObject({
        toolName: 'refund',
        args: { order: 'a', amount: 10 },
        stop: 1,
      });
      expect(started.payloads[0]).not.toHaveProperty('suspendPayload');
      expect((await scene.list()).runs[0]?.toolCalls[0]).toMatchObject({
        state: 'held',
        requiresApproval: true,
      });
      expect(effects).toEqual([]);
      await approveAndCarryOut(scene, kind, effects, started.runId);
      expect(effects).toEqual([{ order: 'a', amount: 10 }]);
    });
  }
}

/** The tool's own word stands against a function of the run, never against `true`. */
function ownFalse(effects: Refund[], shape: string): AgentConfig['tools'] {
  const execute = async (input: Refund) => void effects.push(input);
  return shape === 'agent tool'
    ? { refund: createTool({ id: 'refund', inputSchema: refundInput, requireApproval: false, execute }) }
    : { refund: tool({ inputSchema: refundInput, needsApproval: false, execute }) };
}

for (const shape of ['agent tool', 'AI SDK tool']) {
  inOneWorld('scenario: K5', `the own word false of an ${shape}`, async (open) => {
    const effects: Refund[] = [];
    const plan = { script: [askRefunds('a'), 'Done.'], tools: ownFalse(effects, shape) };
    const free = open({ ...plan, options: { requireToolApproval: () => true } });
    expect((await free.start()).finishReason).toBe('stop');
    expect(effects).toHaveLength(1);
    const held = open({ ...plan, options: { requireToolApproval: true } });
    expect((await held.start()).finishReason).toBe('suspended');
    expect(effects).toHaveLength(1);
  });

  inEveryWorld('scenario: K5', `a function of the input in an ${shape}`, async (open) => {
    const effects: Refund[] = [];
    const large = ({ amount }: Refund): boolean => amount > 100;
    const execute = async (input: Refund) => void effects.push(input);
    const scene = open({
      script: [
        {
          calls: [50, 100, 101].map((amount) => ({ toolName: 'refund', args: { order: 'a', amount } })),
        },
        'Done.',
      ],
      tools:
        shape === 'agent tool'
          ? {
              refund: createTool({ id: 'refund', inputSchema: refundInput, requireApproval: large, execute }),
            }
          : { refund: tool({ inputSchema: refundInput, needsApproval: large, execute }) },
    });
    const { runId, payloads } = await scene.start();
    expect(effects.map(({ amount }) => amount)).toEqual([50, 100]);
    expect(payloads.map(({ args }) => args.amount)).toEqual([101]);
    await scene.approve(runId);
    expect(effects.map(({ amount }) => amount)).toEqual([50, 100, 101]);
  });
}

inOneWorld(
  'scenario: K5',
  'a policy that knows only the key of the tool, or only its id, holds',
  async (open) => {
    for (const known of ['giveMoneyBack', 'refund']) {
      const asked: PolicyCall[] = [];
      const effects: Refund[] = [];
      const scene = open({
        script: [askRefunds('a'), 'Done.'],
        tools: kinds[1]!.tools(effects, false),
        options: {
          requireToolApproval: (call) => {
            asked.push(call);
            return call.toolName === known;
          },
        },
      });
      expect((await scene.start()).finishReason, known).toBe('suspended');
      expect(asked.map(({ toolName }) => toolName).sort()).toEqual(['giveMoneyBack', 'refund']);
      expect(effects).toEqual([]);
    }
  },
);

inOneWorld('scenario: K5', 'a policy that changes what it is given changes nothing', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, false),
    options: {
      requireToolApproval: (call) => {
        call.args.amount = 1_000_000;
        call.requestContext.approved = true;
        return true;
      },
    },
  });
  const { runId, payloads } = await scene.start();
  expect(payloads[0].args.amount).toBe(10);
  await scene.approve(runId);
  expect(effects).toEqual([{ order: 'a', amount: 10 }]);
});

inOneWorld(
  'scenario: K5',
  'a tool’s own policy that changes its input does not change what runs',
  async (open) => {
    const effects: Refund[] = [];
    const refund = createTool({
      id: 'refund',
      inputSchema: refundInput,
      requireApproval: (input) => {
        input.amount = 1_000_000;
        return true;
      },
      execute: async (input) => void effects.push(input),
    });
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: { refund } });
    const { runId, payloads } = await scene.start();
    expect(payloads[0].args.amount).toBe(10);
    await scene.approve(runId);
    expect(effects).toEqual([{ order: 'a', amount: 10 }]);
  },
);

inOneWorld('scenario: K5', 'held in a later step, and among the active tools', async (open) => {
  const effects: Refund[] = [];
  for (const name of ['refund', 'giveMoneyBack']) {
    const scene = open({
      script: [askRefunds('a'), askRefunds('b'), askRefunds('c'), 'Done.'],
      tools: kinds[1]!.tools(effects, true),
      options: { activeTools: [name] },
    });
    let told = await scene.start();
    for (let step = 0; step < 3; step++) {
      expect(told.finishReason).toBe('suspended');
      told = await scene.approve(told.runId);
    }
    expect(told.text).toBe('Done.');
  }
  expect(effects).toHaveLength(6);
});

inOneWorld('scenario: K5', 'a tool that is not active is not called, approved or not', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), 'There is no such tool.'],
    tools: kinds[0]!.tools(effects, true),
    options: { activeTools: [] },
  });
  const told = await scene.start();
  expect(told.finishReason).toBe('stop');
  expect(scene.model.calls[0]?.tools ?? []).toEqual([]);
  expect(effects).toEqual([]);
});

inOneWorld('scenario: K5', 'the table has every store, temperature and face', async () => {
  expect(worlds).toHaveLength(16);
  expect(new Set(worlds.map(({ name }) => name)).size).toBe(16);
  for (const world of worlds) {
    const openStage = await prepareStages(world.store);
    const scene = openScene(world, { script: ['Hello.'] }, openStage());
    expect(scene.store.persistent).toBe(world.store !== 'memory');
    expect(scene.store.id).toMatch(world.store);
    expect(scene.decider() === scene.first).toBe(world.temperature === 'warm');
    expect((await scene.start()).chunks === undefined).toBe(world.face === 'generate');
  }
});
