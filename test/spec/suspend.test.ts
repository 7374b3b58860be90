/** Specification, runtime suspension: a tool pauses itself, and goes on with what a person gave. */
import { Agent, createTool } from 'countersign';
import type { ScriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { hushWarnings, modelFor, type Network, network, promptOf, suspensionsOf } from './harness.ts';

hushWarnings();

describe('a tool that asks for what is missing', () => {
  function weatherToolOf({ fetchWeather }: { fetchWeather(location: string): Promise<string> }) {
    const weatherTool = createTool({
      id: 'get-weather',
      inputSchema: z.object({
        location: z.string().optional(),
      }),
      suspendSchema: z.object({
        question: z.string(),
      }),
      resumeSchema: z.object({
        location: z.string(),
      }),
      execute: async ({ location }, context) => {
        if (!location) {
          return await context?.agent?.suspend({
            question: 'Which city would you like the weather for?',
          });
        }
        return await fetchWeather(location);
      },
    });
    return weatherTool;
  }

  function weatherAgent(args: unknown): { agent: Agent; fetched: string[]; model: ScriptedModel } {
    const fetched: string[] = [];
    const model = modelFor('get-weather', args);
    const weatherTool = weatherToolOf({
      async fetchWeather(location) {
        fetched.push(location);
        return `rain in ${location}`;
      },
    });
    return { agent: new Agent({ id: 'weather', model, tools: { weatherTool } }), fetched, model };
  }

  test('runs without a person when nothing is missing', async () => {
    const { agent, fetched, model } = weatherAgent({ location: 'London' });
    const stream = await agent.stream('How is London?');
    expect(await suspensionsOf(stream)).toEqual([]);
    expect(await stream.text).toBe('There you are.');
    expect(fetched).toEqual(['London']);
    expect(promptOf(model, 1)).toContain('rain in London');
  });

  test('suspends with its question when something is, and fetches nothing', async () => {
    const { agent, fetched, model } = weatherAgent({});
    const stream = await agent.stream('How is the weather?');
    expect(await suspensionsOf(stream)).toEqual([{ question: 'Which city would you like the weather for?' }]);
    expect(await stream.finishReason).toBe('suspended');
    expect(fetched).toEqual([]);
    expect(model.calls).toHaveLength(1);
  });

  test('as printed it looks at its input only, which a resume does not change: it asks again', async () => {
    const { agent, fetched, model } = weatherAgent({});
    const stream = await agent.stream('How is the weather?');
    await stream.consumeStream();
    const resumed = await agent.resumeStream({ location: 'Paris' }, { runId: stream.runId });
    expect(await suspensionsOf(resumed)).toEqual([
      { question: 'Which city would you like the weather for?' },
    ]);
    expect(await resumed.suspendPayload).toMatchObject({ stop: 2 });
    expect(fetched).toEqual([]);
    expect(model.calls).toHaveLength(1);
  });
});

describe('the tool of the automatic resume, resumed by hand', () => {
  function weatherToolOf({ fetch }: Network) {
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

        if (!inputData.city && !resumeData?.city) {
          return suspend?.({ message: 'What city do you want to know the weather for?' });
        }

        const city = resumeData?.city ?? inputData.city;
        const response = await fetch(`https://wttr.in/${city}?format=3`);
        const weather = await response.text();

        return { weather: `${city}: ${weather}` };
      },
    });
    return weatherTool;
  }

  test('goes on with the city that it was given', async () => {
    const net = network('+72°F');
    const model = modelFor('weather-tool', { city: '' });
    const agent = new Agent({ id: 'weather', model, tools: { weatherTool: weatherToolOf(net) } });
    const stream = await agent.stream("What's the weather like?");
    expect(await suspensionsOf(stream)).toEqual([
      { message: 'What city do you want to know the weather for?' },
    ]);
    const resumed = await agent.resumeStream({ city: 'San Francisco' }, { runId: stream.runId });
    expect(await resumed.text).toBe('There you are.');
    expect(net.asked).toEqual(['https://wttr.in/San Francisco?format=3']);
    expect(promptOf(model, 1)).toContain('San Francisco: +72°F');
  });
});

describe("the supervisor's tool, called by one agent", () => {
  function conditionalToolOf({
    performOperation,
  }: {
    performOperation(operation: string): Promise<{ done: string }>;
  }) {
    const conditionalTool = createTool({
      id: 'conditional-operation',
      description: 'Performs an operation that may require confirmation',
      inputSchema: z.object({
        operation: z.string(),
      }),
      suspendSchema: z.object({
        message: z.string(),
      }),
      resumeSchema: z.object({
        confirmed: z.boolean(),
      }),
      execute: async (input, context) => {
        const { resumeData } = context?.agent ?? {};

        if (!resumeData?.confirmed) {
          return context?.agent?.suspend({
            message: `Confirm: ${input.operation}?`,
          });
        }

        return await performOperation(input.operation);
      },
    });
    return conditionalTool;
  }

  test('performs the operation once it is confirmed', async () => {
    const performed: string[] = [];
    const conditionalTool = conditionalToolOf({
      performOperation: async (operation) => ({ done: `${operation} ${performed.push(operation)}` }),
    });
    const model = modelFor('conditional-operation', { operation: 'reindex' });
    const agent = new Agent({ id: 'operator', model, tools: { conditionalTool } });
    const stream = await agent.stream('Reindex, please');
    expect(await suspensionsOf(stream)).toEqual([{ message: 'Confirm: reindex?' }]);
    expect(performed).toEqual([]);
    const resumed = await agent.resumeGenerate({ confirmed: true }, { runId: stream.runId });
    expect(resumed.text).toBe('There you are.');
    expect(performed).toEqual(['reindex']);
  });
});

test('suspend() does not throw: what stands after it runs, and what it returns is dropped', async () => {
  const steps: string[] = [];
  const careless = createTool({
    id: 'careless',
    inputSchema: z.object({}),
    execute: async (_input, { agent: { suspend, resumeData } }) => {
      if (resumeData !== undefined) return { resumed: resumeData };
      steps.push('before');
      await suspend({ first: true });
      steps.push('after');
      await suspend({ second: true });
      return { secret: 'never seen' };
    },
  });
  const model = modelFor('careless', {});
  const agent = new Agent({ id: 'careless-agent', model, tools: { careless } });
  const stream = await agent.stream('Go');
  expect(await suspensionsOf(stream)).toEqual([{ first: true }]);
  expect(steps).toEqual(['before', 'after']);
  const resumed = await agent.resumeStream('on', { runId: stream.runId });
  expect(await resumed.text).toBe('There you are.');
  expect(promptOf(model, 1)).toContain('"resumed":"on"');
  expect(promptOf(model, 1)).not.toContain('never seen');
});
