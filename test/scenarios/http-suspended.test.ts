/** Over HTTP: calls that suspended themselves, and calls that the model asks for again, on each family of routes. */
import { describe, expect, test } from 'vitest';
import { type Chunk, openDesk } from '../../src/server/test-support/desk.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { idsOf, routes, waiting } from '../support/http-routes.ts';

const ok = [200, 202];

describe.each(routes)('on $name', ({ decide }) => {
  test.each([
    ['approve', {}, 422, 'needs-data'],
    ['resume', {}, 400, 'invalid-request'],
    ['resume', { data: null }, 422, 'invalid-resume-data'],
    ['resume', { data: { seats: '2' } }, 422, 'invalid-resume-data'],
    ['resume', { data: { approved: true } }, 422, 'invalid-resume-data'],
    ['resume', { data: { seats: 2 }, stop: 2 }, 409, 'stop-mismatch'],
  ] as const)('scenario: K1 a suspended call goes on waiting: %s %j', async (verb, more, status, code) => {
    const desk = openDesk();
    const asked = await desk.hold('ada', 'book a');
    const answer = await decide(desk, 'ada', asked, verb, more);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await waiting(desk)).toMatchObject([{ ...idsOf(asked), stop: 1, state: 'suspended' }]);
    expect(desk.done).toEqual([]);
    expect(desk.model.calls).toHaveLength(1);
  });

  test('scenario: K1 a suspended call that is declined is not entered again', async () => {
    const desk = openDesk();
    const asked = await desk.hold('ada', 'book a');
    const { status } = await decide(desk, 'ada', asked, 'decline', { reason: 'Stay here.' });
    expect(ok).toContain(status);
    const late = await decide(desk, 'ada', asked, 'resume', { data: { seats: 2 } });
    expect([late.status, late.body.code]).toEqual([409, 'already-decided']);
    expect(desk.done).toEqual([]);
    expect(JSON.stringify(desk.model.calls.at(-1)?.prompt)).toContain('Stay here.');
  });

  test('scenario: K2 what was declined and is asked for again is another call', async () => {
    const asks = { calls: [{ toolName: 'delete', args: { what: 'a' }, toolCallId: 'same' }] };
    const desk = openDesk({ agent: { model: scriptedModel([asks, asks, 'Done.']) } });
    const first = await desk.hold('ada', 'Please.');
    expect(ok).toContain((await decide(desk, 'ada', first, 'decline')).status);
    const [second] = await waiting(desk);
    expect(second.toolCallId).not.toBe(first.toolCallId);
    expect(second.fingerprint).toBe(first.fingerprint);
    for (const verb of ['approve', 'decline'] as const) {
      const stale = await decide(desk, 'ada', first, verb);
      expect([stale.status, stale.body.code]).toEqual([409, 'already-decided']);
    }
    expect(await waiting(desk)).toHaveLength(1);
    expect(desk.done).toEqual([]);
    expect(ok).toContain((await decide(desk, 'ada', second, 'approve')).status);
    expect(desk.done).toEqual(['delete a']);
  });

  test('scenario: K3 of many resumes at once one wins, and its data is what is used', async () => {
    const desk = openDesk();
    const asked = await desk.hold('ada', 'book a');
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((seats) => decide(desk, 'ada', asked, 'resume', { data: { seats } })),
    );
    const won = answers.findIndex(({ status }) => ok.includes(status));
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(4);
    await desk.countersign.stop();
    expect(desk.done).toEqual([`book a for ${won + 1}`]);
  });

  test('scenario: K3 a resume that is sent again under its id is answered again', async () => {
    const desk = openDesk();
    const asked = await desk.hold('ada', 'book a');
    for (const _ of [1, 2]) {
      const more = { data: { seats: 2 }, decisionId: 'd-1' };
      expect(ok).toContain((await decide(desk, 'ada', asked, 'resume', more)).status);
    }
    expect(desk.done).toEqual(['book a for 2']);
  });

  test('scenario: K15 what others suspended is not there', async () => {
    const desk = openDesk();
    const asked = await desk.hold('ada', 'book a');
    for (const [verb, more] of [
      ['resume', { data: { seats: 2 } }],
      ['decline', {}],
    ] as const) {
      for (const who of ['ben', 'nobody'] as const) {
        const answer = await decide(desk, who, asked, verb, more);
        expect([answer.status, answer.body.code]).toEqual([404, 'run-not-found']);
      }
    }
    expect(desk.done).toEqual([]);
    expect(ok).toContain((await decide(desk, 'rita', asked, 'resume', { data: { seats: 3 } })).status);
    expect(desk.done).toEqual(['book a for 3']);
  });

  test('scenario: K15 a reviewer’s call beside an owner’s: each is decided by its own', async () => {
    const desk = openDesk();
    await desk.hold('ada', 'delete a and pay b');
    const calls = await waiting(desk);
    const own = calls.find(({ toolName }: Chunk['payload']) => toolName === 'delete');
    const others = calls.find(({ toolName }: Chunk['payload']) => toolName === 'pay');
    expect((await decide(desk, 'ada', others, 'approve')).status).toBe(403);
    expect(ok).toContain((await decide(desk, 'ada', own, 'approve')).status);
    expect(desk.done).toEqual(['delete a']);
    expect(ok).toContain((await decide(desk, 'rita', others, 'approve')).status);
    expect(desk.done).toEqual(['delete a', 'pay b']);
  });
});

test('scenario: K15 what became of a call is for those to say who may decide it', async () => {
  const desk = openDesk();
  const { runId, toolCallId } = await desk.hold('ada', 'pay a');
  const path = `/api/approvals/${runId}/${toolCallId}/resolve`;
  for (const [who, status, code] of [
    ['ben', 404, 'run-not-found'],
    ['nobody', 404, 'run-not-found'],
    ['ada', 403, 'forbidden'],
    ['cleo', 403, 'forbidden'],
  ] as const) {
    const answer = await desk.post(who, path, { stop: 1, output: 'paid' });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  }
  expect(await waiting(desk)).toMatchObject([{ runId, toolCallId, state: 'held' }]);
});
