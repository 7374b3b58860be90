/** K8 and K9 of auto-resume: what waits in a sub-agent, at any depth, is answered by the next message, live and later. */
import { expect } from 'vitest';
import { type Script, scriptedModel } from '../../src/testing/scripted-model.ts';
import { answers, namesOffered, openAnswering, outputsIn } from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded } from '../support/conversation.ts';
import { call, chain, delegate, membersOf, type TeamEffects, teamEffects } from '../support/team.ts';
import { inEveryWorld, type Open } from '../support/world.ts';

const answer = (text: string, toolCallId = 'R') => ({ ...answers('', toolCallId), args: { answer: text } });

function openTeam(open: Open, depth: number, script: Script, calls = [call('ask', 'where')]) {
  const effects: TeamEffects = teamEffects();
  const members = chain(depth, calls);
  return { effects, scene: openAnswering(open, { script, agents: () => membersOf(effects, members) }) };
}

const idAt = (depth: number, inner: string): string =>
  [...Array.from({ length: depth }, (_, index) => `to-level${index + 1}`), inner].join('~');

for (const depth of [1, 2]) {
  inEveryWorld('scenario: K9', `depth ${depth}: the turn gets the result of the delegation`, async (open) => {
    const { scene, effects } = openTeam(open, depth, [
      { calls: [delegate('level1')] },
      { calls: [answer('here')] },
      'All is done.',
    ]);
    const { runId } = await scene.start();
    const turn = await scene.turn('Here.');
    expect(turn.text).toBe('All is done.');
    expect(namesOffered(scene, 1)).toEqual(['agent-level1', 'resume-ask']);
    expect(effects.executed).toEqual(['ask where here']);
    expect(turn.results).toMatchObject([{ toolCallId: 'R', result: { text: 'level1 is done.' } }]);
    expect(outputsIn(scene, 2)).toMatchObject({ R: { type: 'text', value: 'level1 is done.' } });
    for (const model of effects.models.values()) expect(model.calls).toHaveLength(2);
    expect(await scene.store.load(runId, 0)).toMatchObject({
      outcome: { finishReason: 'answered', answered: { runId: turn.runId, toolCallId: 'R' } },
      records: [{ toolCallId: idAt(depth, 'ask-where'), verdict: 'resume', by: { id: 'auto-resume' } }],
    });
    expect((await scene.list({ ...thread, status: 'all' })).runs).toEqual([]);
    expect(callsIn(await loaded(scene)).map(({ toolCallId, state }) => [toolCallId, state])).toEqual([
      ['to-level1', 'output-available'],
      [idAt(depth, 'ask-where'), 'output-available'],
      ['R', 'output-available'],
    ]);
    expectValidPrompts(scene, 3);
  });

  inEveryWorld(
    'scenario: K8',
    `depth ${depth}: a sub-agent that then asks a person goes on without the turn`,
    async (open) => {
      const { scene, effects } = openTeam(
        open,
        depth,
        [{ calls: [delegate('level1')] }, { calls: [answer('here')] }, 'It is under way.', 'All is done.'],
        [call('ask', 'where'), call('act', 'it')],
      );
      const { runId } = await scene.start();
      const turn = await scene.turn('Here.');
      expect(turn.text).toBe('It is under way.');
      expect(outputsIn(scene, 2)).toMatchObject({ R: { type: 'json', value: { waiting: true } } });
      expect(effects.executed).toEqual(['ask where here']);
      const id = idAt(depth, 'act-it');
      expect((await scene.list(thread)).runs).toMatchObject([{ runId, toolCalls: [{ toolCallId: id }] }]);
      const approved = await scene.approve(runId, { toolCallId: id });
      expect(approved).toMatchObject({ text: 'All is done.', finishReason: 'stop' });
      expect(effects.executed).toEqual(['ask where here', 'act it']);
      expectValidPrompts(scene, 4);
    },
  );

  inEveryWorld('scenario: K8', `depth ${depth}: two calls below, answered in one turn`, async (open) => {
    const { scene, effects } = openTeam(
      open,
      depth,
      [
        { calls: [delegate('level1')] },
        { calls: [answer('here', 'R1'), { ...answer('now', 'R2'), toolName: 'resume-ask-2' }] },
        'All is done.',
      ],
      [call('ask', 'where'), call('ask', 'when')],
    );
    const { runId } = await scene.start();
    const turn = await scene.turn('Here and now.');
    expect(turn.text).toBe('All is done.');
    expect(effects.executed.toSorted()).toEqual(['ask when now', 'ask where here']);
    const outputs = outputsIn(scene, 2);
    expect([outputs.R1, outputs.R2]).toContainEqual({ type: 'text', value: 'level1 is done.' });
    expect(await scene.store.load(runId, 0)).toMatchObject({ outcome: { finishReason: 'answered' } });
    expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  });
}

inEveryWorld(
  'scenario: K8',
  'a sub-agent whose model fails after the answer is continued by a person',
  async (open) => {
    const effects = teamEffects();
    let failing = true;
    effects.models.set(
      'level1',
      scriptedModel((prompt) => {
        if (prompt.at(-1)?.role === 'user') return { calls: [call('ask', 'where')] };
        return failing ? { error: new Error('overloaded') } : 'level1 is done.';
      }),
    );
    const scene = openAnswering(open, {
      script: [{ calls: [delegate('level1')] }, { calls: [answer('here')] }, 'It is under way.', 'Bye.'],
      agents: () =>
        membersOf(effects, { level1: { calls: [], config: { defaultOptions: { maxRetries: 0 } } } }),
    });
    const { runId } = await scene.start();
    expect((await scene.turn('Here.')).text).toBe('It is under way.');
    expect(outputsIn(scene, 2)).toMatchObject({ R: { value: { waiting: true } } });
    expect((await scene.list({ ...thread, status: 'all' })).runs).toMatchObject([
      { runId, status: 'stalled' },
    ]);
    failing = false;
    const continued = await scene.continueRun(runId);
    expect(continued).toMatchObject({ finishReason: 'answered', error: undefined });
    expect(effects.executed).toEqual(['ask where here']);
    await scene.turn('Thanks.');
    expect(outputsIn(scene, 3)).toMatchObject({ 'to-level1': { value: 'level1 is done.' } });
    expect((await scene.list({ ...thread, status: 'all' })).runs).toEqual([]);
  },
);
