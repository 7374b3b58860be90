/** Specification, runtime suspension: a tool pauses itself, and goes on with what a person gave. */
import { Agent as BareAgent, createTool } from 'countersign';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentClass, onEachStore } from './each-store.ts';
import { hushWarnings, modelFor, promptOf, suspensionsOf } from './harness.ts';

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

  function weatherAgent(args: unknown, Agent: AgentClass = BareAgent) {
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

  onEachStore('suspending tool', 'runs without a person when nothing is missing', async ({ Agent }) => {
    const { agent, fetched, model } = weatherAgent({ location: 'London' }, Agent);
    const stream = await agent.stream('How is London?');
    expect(await suspensionsOf(stream)).toEqual([]);
    expect(await stream.text).toBe('There you are.');
    expect(fetched).toEqual(['London']);
    expect(promptOf(model, 1)).toContain('rain in London');
  });

  // As printed it looks at its input only, which a resume does not change.
  onEachStore('suspending tool', 'asks when something is, and again when resumed', async ({ Agent }) => {
    const { agent, fetched, model } = weatherAgent({}, Agent);
    const stream = await agent.stream('How is the weather?');
    expect(await suspensionsOf(stream)).toEqual([{ question: 'Which city would you like the weather for?' }]);
    expect(await stream.finishReason).toBe('suspended');
    const resumed = await agent.resumeStream({ location: 'Paris' }, { runId: stream.runId });
    expect(await suspensionsOf(resumed)).toEqual([
      { question: 'Which city would you like the weather for?' },
    ]);
    expect(await resumed.suspendPayload).toMatchObject({ stop: 2 });
    expect(model.calls).toHaveLength(1);
    const declined = await agent.declineToolCall({ runId: stream.runId });
    expect(await declined.text).toBe('There you are.');
    expect(fetched).toEqual([]);
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
  const agent = new BareAgent({ id: 'careless-agent', model, tools: { careless } });
  const stream = await agent.stream('Go');
  expect(await suspensionsOf(stream)).toEqual([{ first: true }]);
  expect(steps).toEqual(['before', 'after']);
  const resumed = await agent.resumeStream('on', { runId: stream.runId });
  expect(await resumed.text).toBe('There you are.');
  expect(promptOf(model, 1)).toContain('"resumed":"on"');
  expect(promptOf(model, 1)).not.toContain('never seen');
});
