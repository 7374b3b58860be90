/** Two real processes on one file: a child begins and exits, or goes on, and this one decides. */
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import type { Script } from '../../src/testing/scripted-model.ts';
import { spawnChild } from '../support/child.ts';
import { type Command, effectsOf, type Orders, openDesk, type ToldByChild } from '../support/desk-process.ts';
import { askRefunds, kinds, refundCall, resultsIn } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { temporaryFile } from '../support/stages.ts';
import { grammarProblems, ofType, readStream } from '../support/told.ts';

interface Setup {
  readonly kind?: number;
  /** What the child's model answers. */
  readonly script: Orders['script'];
  /** What the model answers here. */
  readonly here?: Script;
  readonly start?: Extract<Command, { do: 'start' }>['options'];
}

/** A child begins a run, tells of it and is gone; then the file is opened here. */
async function begun({ kind = 0, script, here = ['Done.'], start = {} }: Setup) {
  const database = temporaryFile();
  const place = { database, effects: `${database}.effects`, kind };
  const { child, next } = spawnChild({ ...place, script, commands: [{ do: 'start', options: start }] });
  const exited = once(child, 'exit');
  const told = await next<ToldByChild>();
  expect(told.finishReason).toBe('suspended');
  await exited;
  const desk = openDesk(place, here);
  onTestFinished(() => desk.store.close());
  return { ...desk, place, told, runId: told.runId, pid: child.pid };
}

const refundsOf = (place: Orders | Parameters<typeof effectsOf>[0]) =>
  effectsOf(place).filter(({ tool }) => tool === 'refund');

for (const [index, kind] of kinds.entries()) {
  test(`scenario: K1 scenario: K5 two processes: held by a child, declined here (${kind.name})`, async () => {
    const { agent, place, runId, told, model } = await begun({ kind: index, script: [askRefunds('a')] });
    expect(told.suspendPayloads).toHaveLength(1);
    expect(await codeOf(agent.resumeStream({ approved: 'yes' }, { runId }))).toBe('needs-verdict');
    const output = await agent.declineToolCallGenerate({ runId, reason: 'no' });
    expect(output.text).toBe('Done.');
    expect(effectsOf(place)).toEqual([]);
    expect(resultsIn(model.calls[0]?.prompt)['call-0-0']?.type).toBe('execution-denied');
    expect(await codeOf(agent.approveToolCall({ runId }))).toBe('already-decided');
    expect(effectsOf(place)).toEqual([]);
  });
}

test('scenario: K2 two processes: a decision for what was declined hits nothing', async () => {
  const asked = { calls: [refundCall('a', 1, 'A')] };
  const { agent, place, runId, told } = await begun({ script: [asked], here: [asked, 'Done.'] });
  const { fingerprint } = told.suspendPayloads[0]!;
  const wrong = { runId, toolCallId: 'A', fingerprint: fingerprint.replace(/./g, '0') };
  expect(await codeOf(agent.approveToolCall(wrong))).toBe('fingerprint-mismatch');
  expect(await codeOf(agent.approveToolCall({ runId, toolCallId: 'B' }))).toBe('call-not-found');
  const again = await agent.declineToolCallGenerate({ runId, toolCallId: 'A', fingerprint });
  const held = again.suspendPayloads[0]?.toolCallId;
  expect(held).not.toBe('A');
  expect(await codeOf(agent.approveToolCall({ runId, toolCallId: 'A' }))).toBe('already-decided');
  expect(effectsOf(place)).toEqual([]);
  await agent.approveToolCallGenerate({ runId, toolCallId: held });
  expect(refundsOf(place)).toHaveLength(1);
});

test('scenario: K3 two processes: a child repeats decisions of an ended run by their ids', async () => {
  const { agent, place, runId } = await begun({ script: [askRefunds('a', 'b')] });
  const clicks = [
    { verdict: 'approve', toolCallId: 'call-0-0', decisionId: 'click 1' },
    { verdict: 'decline', toolCallId: 'call-0-1', decisionId: 'click 2' },
  ] as const;
  for (const { verdict, ...choice } of clicks)
    await agent[`${verdict}ToolCallGenerate`]({ runId, ...choice });
  expect(refundsOf(place)).toHaveLength(1);
  const { child, next } = spawnChild({
    ...place,
    script: ['Never.'],
    commands: [
      ...clicks.map(({ verdict, ...choice }) => ({ do: verdict, options: { runId, ...choice } })),
      { do: 'approve', options: { runId, ...clicks[1], verdict: undefined } },
      { do: 'approve', options: { runId, toolCallId: 'call-0-0', decisionId: 'click 3' } },
    ],
  });
  const exited = once(child, 'exit');
  const [approved, declined, turned, other] = [
    await next<ToldByChild>(),
    await next<ToldByChild>(),
    await next<ToldByChild>(),
    await next<ToldByChild>(),
  ];
  expect(approved).toMatchObject({
    runId,
    finishReason: 'stop',
    text: 'Done.',
    results: [{ toolCallId: 'call-0-0', result: { refunded: 10 } }],
  });
  expect(declined).toMatchObject({ runId, finishReason: 'stop', text: 'Done.', results: [] });
  expect(turned).toMatchObject({ code: 'already-decided', decision: { verdict: 'decline' } });
  expect(other).toMatchObject({ code: 'already-decided', decision: { verdict: 'approve' } });
  expect(other.modelCalls).toBe(0);
  await exited;
  expect(refundsOf(place)).toHaveLength(1);
});

test('scenario: K4 two processes: what the model wrote in the child decides nothing here', async () => {
  const args = { order: 'a', amount: 10, approved: true, resumeData: { approved: true }, runId: 'null' };
  const { agent, place, runId } = await begun({ script: [{ calls: [{ toolName: 'refund', args }] }] });
  expect(effectsOf(place)).toEqual([]);
  expect(await codeOf(agent.approveToolCall({ runId: 'null' }))).toBe('run-not-found');
  await agent.declineToolCallGenerate({ runId });
  expect(effectsOf(place)).toEqual([]);
});

test('scenario: K7 scenario: K10 two processes: the neighbour ran in the child, once, and its result is in the prompt', async () => {
  const { agent, place, runId, model, pid } = await begun({
    script: [{ text: 'Working. ', calls: [{ toolName: 'look' }, refundCall('a'), refundCall('b')] }],
  });
  await agent.declineToolCallGenerate({ runId, toolCallId: 'call-0-1' });
  expect(model.calls).toHaveLength(0);
  await agent.approveToolCallGenerate({ runId });
  expect(effectsOf(place).map(({ tool, pid: by }) => [tool, by])).toEqual([
    ['look', pid],
    ['refund', process.pid],
  ]);
  const [call] = model.calls;
  expect(checkPrompt(call?.prompt ?? [], 'all')).toEqual([]);
  const results = resultsIn(call?.prompt);
  expect(Object.keys(results)).toEqual(['call-0-0', 'call-0-1', 'call-0-2']);
  expect(results['call-0-0']?.value).toEqual({ seen: pid });
});

test('scenario: K13 two processes: options and context of the run hold here', async () => {
  const { agent, place, runId, model } = await begun({
    script: [askRefunds('a')],
    here: [{ calls: [{ toolName: 'look' }] }, 'Done.'],
    start: {
      instructions: 'Instructions of the run.',
      modelSettings: { temperature: 0.5 },
      memory: { thread: 'thread 1', resource: 'user 1' },
    },
  });
  expect((await agent.listSuspendedRuns({ threadId: 'thread 1' })).runs[0]?.resourceId).toBe('user 1');
  await agent.approveToolCallGenerate({ runId });
  expect(model.calls).toHaveLength(2);
  for (const { temperature, prompt } of model.calls) {
    expect(temperature).toBe(0.5);
    expect(JSON.stringify(prompt)).toContain('Instructions of the run.');
  }
  expect(effectsOf(place).find(({ tool }) => tool === 'look')?.tenant).toEqual({ id: 'acme' });
});

test('scenario: K14 two processes: the stream that goes on here, and the one of an onlooker', async () => {
  const { agent, runId, told } = await begun({ script: [{ reasoning: 'Think. ', ...askRefunds('a') }] });
  const observed = await readStream(await agent.observe({ runId }));
  expect(grammarProblems(observed.chunks!)).toEqual([]);
  expect(observed.text).toBe(told.text);
  const approved = await readStream(await agent.approveToolCall({ runId }));
  expect(grammarProblems(approved.chunks!)).toEqual([]);
  expect(approved.messageId).toBe(observed.messageId);
  expect(ofType(approved.chunks, 'tool-call')[0]?.payload.replayed).toBe(true);
  expect(approved.totalText).toBe(`${told.text}Done.`);
});

test('scenario: K17 two processes: cancelled here while the call runs in a child', async () => {
  const { agent, store, place, runId } = await begun({ script: [{ calls: [{ toolName: 'slow' }] }] });
  const other = spawnChild({
    ...place,
    script: ['Never.'],
    commands: [{ do: 'approve', options: { runId } }],
  });
  expect(await other.next()).toEqual({ inside: 'slow' });
  expect(await agent.cancelRun({ runId, reason: 'enough' })).toEqual({ runId, status: 'cancelling' });
  const observing = agent.observe({ runId }).then(readStream);
  other.child.stdin.write('go on\n');
  const told = await other.next<ToldByChild>();
  expect(told).toMatchObject({ finishReason: 'cancelled', results: [{ result: { slept: true } }] });
  expect((await observing).finishReason).toBe('cancelled');
  expect(await store.load(runId, 0)).toMatchObject({
    kind: 'ended',
    outcome: { status: 'cancelled', reason: 'enough' },
    records: [{ verdict: 'approve', outcome: { state: 'finished' } }],
  });
  expect(await codeOf(agent.declineToolCall({ runId, toolCallId: 'call-0-0' }))).toBe('already-decided');
});

test('scenario: K20 two processes: the model here is told the reason, and the child is told the verdict', async () => {
  const { agent, place, runId, model } = await begun({ script: [askRefunds('a')] });
  await agent.declineToolCallGenerate({ runId, reason: 'too much', by: { id: 'ann' } });
  const output = resultsIn(model.calls[0]?.prompt)['call-0-0'];
  expect(output?.type).toBe('execution-denied');
  expect(output?.reason).toContain('too much');
  const { next } = spawnChild({
    ...place,
    script: ['Never.'],
    commands: [{ do: 'approve', options: { runId, toolCallId: 'call-0-0' } }],
  });
  expect(await next()).toMatchObject({
    code: 'already-decided',
    decision: { verdict: 'decline', reason: 'too much', by: { id: 'ann' }, outcome: { state: 'declined' } },
  });
  expect(effectsOf(place)).toEqual([]);
});
