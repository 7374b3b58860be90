/** A process that does one thing after the other, or several at once, as its test says. Started by `puppets.ts`. */
import { z } from 'zod';
import {
  Agent,
  type AgentOutput,
  type AgentStream,
  Countersign,
  createTool,
  isCountersignError,
  RequestContext,
} from '../../src/index.ts';
import { type Script, scriptedModel } from '../../src/testing/scripted-model.ts';
import { openEffects } from './effects.ts';
import { openPlace } from './places.ts';
import type { Command, Given, PuppetOptions, Reply } from './puppets.ts';

const options = JSON.parse(process.argv[2] ?? '') as PuppetOptions;
const effects = openEffects(options.effects);
const store = openPlace(options.place);

const refund = createTool({
  id: 'refund',
  inputSchema: z.looseObject({}),
  requireApproval: true,
  execute: async (args, { runId, toolCallId, requestContext }) => {
    effects.add({ runId, toolCallId, args: JSON.stringify(args) });
    return { refunded: args, tenant: requestContext.get('tenant') ?? null };
  },
});

const status = createTool({
  id: 'status',
  inputSchema: z.looseObject({}),
  execute: async (args, { runId, toolCallId }) => {
    effects.add({ runId, toolCallId, args: JSON.stringify(args) });
    return 'x'.repeat(Number(args.size ?? 1));
  },
});

const askCity = createTool({
  id: 'ask-city',
  inputSchema: z.looseObject({}),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ city: z.string() }),
  execute: async (_args, { runId, toolCallId, agent: { suspend, resumeData } }) => {
    if (!resumeData) return suspend({ question: 'Which city?' });
    effects.add({ runId, toolCallId, args: JSON.stringify(resumeData) });
    return resumeData;
  },
});

/** Returns what JSON does not hold. */
const odd = createTool({
  id: 'odd',
  inputSchema: z.looseObject({}),
  requireApproval: true,
  execute: async ({ kind }): Promise<unknown> => {
    switch (kind) {
      case 'date':
        return { at: new Date(0) };
      case 'undefined':
        return { here: 1, gone: undefined };
      case 'map':
        return { map: new Map([['a', 1]]) };
      case 'bigint':
        return { big: 1n };
      default: {
        const cycle: { self?: unknown } = {};
        cycle.self = cycle;
        return cycle;
      }
    }
  },
});

/** The user's text says as JSON what the model answers, step by step; the last step repeats. */
const script: Script = (prompt) => {
  const user = prompt.findLast(({ role }) => role === 'user');
  const text =
    user?.role === 'user' ? user.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
  const { name, steps } = JSON.parse(text) as Given;
  const after = prompt.slice(prompt.lastIndexOf(user as never) + 1);
  const step = after.filter(({ role }) => role === 'assistant').length;
  effects.add({ runId: name, toolCallId: 'model', args: JSON.stringify(prompt) });
  return steps[step] ?? 'Done.';
};

const agent = new Agent({
  id: 'desk',
  model: scriptedModel(script),
  tools: { refund, status, askCity, odd },
});
const countersign = new Countersign({
  agents: { agent },
  storage: store,
  warn: () => {},
  heartbeat: { every: 50, lease: 400 },
});

function replyOf(output: AgentOutput): Reply {
  const { runId, text, finishReason, suspendPayloads, toolResults } = output;
  const results = toolResults.map(({ payload }) => ({
    toolCallId: payload.toolCallId,
    result: payload.result as unknown,
  }));
  return {
    runId,
    text,
    finishReason,
    waiting: suspendPayloads as unknown as NonNullable<Reply['waiting']>,
    results,
  };
}

/** Reads a stream chunk by chunk, and tells at once what is announced. */
async function followed(stream: AgentStream): Promise<Reply> {
  const chunks: string[] = [];
  for await (const { type, payload } of stream.fullStream as AsyncIterable<{
    type: string;
    payload: never;
  }>) {
    chunks.push(type);
    if (type === 'tool-call-approval') {
      const { toolCallId } = payload as { toolCallId: string };
      process.send?.({ announced: { runId: stream.runId, toolCallId } });
    }
  }
  return { runId: stream.runId, finishReason: await stream.finishReason, chunks };
}

async function perform(command: Command): Promise<Reply> {
  switch (command.do) {
    case 'ask': {
      const { given, tenant, ...more } = command;
      const context =
        tenant === undefined ? {} : { requestContext: new RequestContext([['tenant', tenant]]) };
      const { instructions, maxSteps, memory } = more;
      const run = { ...context, instructions, maxSteps, memory };
      const text = JSON.stringify(given);
      return command.stream
        ? followed(await agent.stream(text, run))
        : replyOf(await agent.generate(text, run));
    }
    case 'decide': {
      const { verdict, data, stream, options: decision } = command;
      if (verdict === 'approve') {
        return stream
          ? followed(await agent.approveToolCall(decision))
          : replyOf(await agent.approveToolCallGenerate(decision));
      }
      if (verdict === 'decline') return replyOf(await agent.declineToolCallGenerate(decision));
      return replyOf(await agent.resumeGenerate(data, decision));
    }
    case 'list': {
      const { runs, total } = await agent.listSuspendedRuns({ status: command.status, perPage: 1000 });
      return { runs, total };
    }
    case 'sweep':
      await countersign.sweep();
      return {};
    case 'stop':
      await countersign.stop();
      await store.close();
      effects.close();
      return {};
  }
}

process.on('message', ({ id, command }: { id: number; command: Command }) => {
  perform(command).then(
    (reply) => {
      process.send?.({ id, reply }, undefined, undefined, () => {
        if (command.do === 'stop') process.disconnect();
      });
    },
    (error: unknown) => {
      const { code, details } = isCountersignError(error) ? error : { code: String(error), details: {} };
      process.send?.({ id, error: { code, decision: details.decision } });
    },
  );
});
process.on('disconnect', () => process.exit());
