/** Specification, auto-resume: the next message of the conversation answers what a tool asked. */
import { type Agent, createTool, Memory } from 'countersign';
import { type ScriptedModel, scriptedModel } from 'countersign/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { type AgentClass, onEachStore } from './each-store.ts';
import {
  hushWarnings,
  type Network,
  network,
  promptOf,
  suspensionsOf,
  type Terminal,
  terminal,
} from './harness.ts';

hushWarnings();

interface Free extends Pick<Terminal, 'process' | 'console'>, Pick<Network, 'fetch'> {
  readonly Agent: AgentClass;
  readonly model: ScriptedModel;
}

/** Asks for the weather of no city; finds a city in the next message; says what it was told. */
function weatherModel(): ScriptedModel {
  return scriptedModel((prompt, _index, tools) => {
    const last = prompt.at(-1);
    if (last?.role === 'tool') {
      const output = (last.content[0] as unknown as { output: { value: { weather: string } } }).output.value;
      return `The weather in San Francisco is: ${output.weather}`;
    }
    const resume = tools.find(({ name }) => name === 'resume-weather-tool');
    return resume
      ? { calls: [{ toolName: resume.name, args: { city: 'San Francisco' } }] }
      : { calls: [{ toolName: 'weather-tool', args: { city: '' } }] };
  });
}

function agentOf({ Agent, model, fetch }: Pick<Free, 'Agent' | 'model' | 'fetch'>): Agent {
  const weatherTool = createTool({
    id: 'weather-tool',
    description: 'Fetches weather for a city',
    inputSchema: z.object({
      city: z.string(),
    }),
    outputSchema: z.object({
      weather: z.string(),
    }),
    suspendSchema: z.object({
      message: z.string(),
    }),
    resumeSchema: z.object({
      city: z.string(),
    }),
    execute: async (inputData, context) => {
      const { resumeData, suspend } = context?.agent ?? {};

      // If no city provided, ask the user
      if (!inputData.city && !resumeData?.city) {
        return suspend?.({ message: 'What city do you want to know the weather for?' });
      }

      const city = resumeData?.city ?? inputData.city;
      const response = await fetch(`https://wttr.in/${city}?format=3`);
      const weather = await response.text();

      return { weather: `${city}: ${weather}` };
    },
  });
  const agent = new Agent({
    id: 'my-agent',
    name: 'My Agent',
    instructions: 'You are a helpful assistant',
    model,
    tools: { weatherTool },
    memory: new Memory(),
    defaultOptions: {
      autoResumeSuspendedTools: true,
    },
  });
  return agent;
}

async function conversation({ Agent, model, fetch, process, console }: Free): Promise<void> {
  const agent = agentOf({ Agent, model, fetch });
  const stream = await agent.stream("What's the weather like?");

  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-suspended') {
      console.log(chunk.payload.suspendPayload);
    }
  }

  // User sends follow-up on the same thread
  const resumedStream = await agent.stream('San Francisco');
  for await (const chunk of resumedStream.textStream) {
    process.stdout.write(chunk);
  }
}

const examples = ['auto-resume agent', 'auto-resume tool', 'auto-resume conversation'] as const;

onEachStore(examples, 'the conversation goes as it is printed, by stream', async ({ Agent }) => {
  const screen = terminal();
  const { fetch, asked } = network('☀️ +72°F');
  await conversation({ ...screen, Agent, fetch, model: weatherModel() });
  expect(screen.logged).toEqual([[{ message: 'What city do you want to know the weather for?' }]]);
  expect(screen.printed()).toBe('The weather in San Francisco is: San Francisco: ☀️ +72°F');
  expect(asked).toEqual(['https://wttr.in/San Francisco?format=3']);
});

onEachStore(examples, 'and by generate', async ({ Agent }) => {
  const { fetch, asked } = network('☀️ +72°F');
  const agent = agentOf({ Agent, model: weatherModel(), fetch });
  const first = await agent.generate("What's the weather like?");
  expect(first.suspendPayload?.suspendPayload).toEqual({
    message: 'What city do you want to know the weather for?',
  });
  const second = await agent.generate('San Francisco');
  expect(second.text).toBe('The weather in San Francisco is: San Francisco: ☀️ +72°F');
  expect(asked).toHaveLength(1);
  await expect(agent.resumeGenerate({ city: 'Rome' }, { runId: first.runId })).rejects.toMatchObject({
    code: 'already-decided',
  });
  expect(asked).toHaveLength(1);
});

onEachStore('auto-resume tool', 'goes on with the city that it was given by hand', async ({ Agent }) => {
  const { fetch, asked } = network('+72°F');
  const model = weatherModel();
  const agent = agentOf({ Agent, model, fetch });
  const stream = await agent.stream("What's the weather like?");
  expect(await suspensionsOf(stream)).toEqual([
    { message: 'What city do you want to know the weather for?' },
  ]);
  const resumed = await agent.resumeStream({ city: 'Rome' }, { runId: stream.runId });
  expect(await resumed.finishReason).toBe('stop');
  expect(asked).toEqual(['https://wttr.in/Rome?format=3']);
  expect(promptOf(model, 1)).toContain('Rome: +72°F');
});
