/** K13: what a later leg does with options that are passed again, and with those that are not. */
import type { Chunk, RunOptions } from 'countersign';
import { expect } from 'vitest';
import { askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

inEveryWorld(
  'scenario: K13',
  'onChunk gets each chunk of its own leg once, and is not called by a leg that lacks it',
  async (open) => {
    const seen: Chunk[] = [];
    const onChunk: RunOptions['onChunk'] = ({ chunk }) => void seen.push(chunk);
    const effects: Refund[] = [];
    const scene = open({
      script: [askRefunds('a'), askRefunds('b'), 'Done.'],
      tools: kinds[0]!.tools(effects, true),
    });
    const started = await scene.start({ onChunk });
    const first = seen.splice(0);
    expect([first.at(0)?.type, first.at(-1)?.type]).toEqual(['start', 'finish']);
    if (started.chunks) expect(first).toEqual(started.chunks);
    await scene.approve(started.runId);
    expect(seen).toEqual([]);
    const told = await scene.approve(started.runId, { onChunk });
    expect(told.text).toBe('Done.');
    expect([seen.at(0)?.type, seen.at(-1)?.type]).toEqual(['start', 'finish']);
    if (told.chunks) expect(seen).toEqual(told.chunks);
    expect(effects).toHaveLength(2);
  },
);

inEveryWorld('scenario: K13', 'onChunk of the agent’s defaults is called by every leg', async (open) => {
  const ends: unknown[] = [];
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools([], true),
    agent: {
      defaultOptions: {
        onChunk: ({ chunk }) => void (chunk.type === 'finish' && ends.push(chunk.payload.finishReason)),
      },
    },
  });
  const { runId } = await scene.start();
  await scene.approve(runId);
  expect(ends).toEqual(['suspended', 'stop']);
});

inOneWorld('scenario: K13', 'an onChunk that throws changes nothing', async (open) => {
  const effects: Refund[] = [];
  const errors: unknown[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, false) });
  const told = await scene.start({
    onChunk: () => {
      throw new Error('broken');
    },
    onError: ({ error }) => errors.push(error),
  });
  expect(told).toMatchObject({ finishReason: 'stop', totalText: 'Let me see. Done.' });
  expect(errors).toHaveLength(told.chunks?.length ?? 0);
  expect(effects).toHaveLength(1);
});

inOneWorld(
  'scenario: K13',
  'a decision that is repeated after the end is told to onChunk too',
  async (open) => {
    const seen: Chunk[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools([], true) });
    const { runId } = await scene.start();
    await scene.approve(runId, { decisionId: 'click' });
    const told = await scene.approve(runId, {
      decisionId: 'click',
      toolCallId: 'call-0-0',
      onChunk: ({ chunk }) => void seen.push(chunk),
    });
    expect(seen).toEqual(told.chunks);
    expect(seen.at(-1)?.type).toBe('finish');
  },
);
