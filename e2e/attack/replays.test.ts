/** Decisions that are sent again: by others, at once, and when it is too late. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { askRoute, type Route, routesThat, said } from './routes.ts';
import { startVictim, type Victim, type Waiting } from './victim.ts';
import type { Who } from './world.ts';

let victim: Victim;
beforeAll(async () => {
  victim = await startVictim({ limits: { requestsPerMinute: 100_000, streams: 100 } });
});
afterAll(() => victim.stop());
afterEach(() => victim.health());

const decides = routesThat('decide');
const approves = decides.filter(({ name }) => /approv/.test(name.replace('/approvals', '')));
const declines = decides.filter(({ name }) => name.includes('decline'));
const decide = (route: Route, who: Who, call: Waiting, more = {}) => askRoute(victim, route, who, call, more);

/** Reads the run until it waits or has ended: some routes answer before. */
const rest = ({ runId }: Waiting) =>
  victim.ask('rita', 'GET', `/api/runs/${encodeURIComponent(runId)}/events`);
const done = (call: Waiting): number => victim.effects(call.runId).length;

/** By conversation a run is found while it is open. */
const isByConversation = ({ name }: Route): boolean => name.endsWith('send-tool-approval');
const tooLate = (route: Route, code = '409 already-decided') =>
  isByConversation(route) ? expect.stringMatching(`^(404 run-not-found|${code})$`) : code;

test('there are routes of each kind', () => {
  expect([approves.length, declines.length]).toEqual([4, 3]);
});

describe.each(approves)('$name', (route) => {
  test('twenty at once are one', async () => {
    const call = await victim.hold('ada', 'delete a');
    const people: Who[] = ['ada', 'rita', 'cleo'];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        decide(route, people[index % 3] as Who, call, { decisionId: `d-${index}` }),
      ),
    );
    await rest(call);
    const lost = answers.filter(({ status }) => status >= 400);
    expect(lost.map(said)).toEqual(Array.from({ length: 19 }, () => tooLate(route)));
    expect(done(call)).toBe(1);
  });

  test('twenty of everybody, on every route, are one', async () => {
    const call = await victim.hold('ada', 'delete a');
    const answers = await Promise.all(
      [...decides, ...decides].map((other, index) => decide(other, index % 2 ? 'ada' : 'rita', call)),
    );
    await rest(call);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    const { body } = await victim.ask('ada', 'GET', `/api/approvals/${call.runId}/${call.toolCallId}`);
    expect(body.decisions).toHaveLength(1);
    expect(done(call)).toBe(body.decisions[0].verdict === 'approve' ? 1 : 0);
  });

  test('one that is sent again says who decided, whoever sends it, and does nothing', async () => {
    const call = await victim.hold('ada', 'delete a and book b');
    const first = await decide(route, 'ada', call, { decisionId: 'one', reason: 'I want it' });
    expect(first.status).toBeLessThan(300);
    await rest(call);
    for (const who of ['ada', 'rita', 'cleo'] as const) {
      const again = await decide(route, who, call, { decisionId: 'one', reason: 'No, I' });
      expect([who, [200, 202].includes(again.status) || said(again) === '404 run-not-found']).toEqual([
        who,
        true,
      ]);
      await rest(call);
      expect(said(await decide(route, who, call, { decisionId: 'two' }))).toEqual(tooLate(route));
      for (const other of declines) {
        const opposite = await decide(other, who, call, { decisionId: 'one' });
        expect([other.name, said(opposite)]).toEqual([other.name, '409 already-decided']);
        expect(opposite.body.decision).toMatchObject({
          verdict: 'approve',
          by: { id: 'ada' },
          reason: 'I want it',
        });
      }
    }
    for (const who of ['ben', 'paul'] as const) {
      const foreign = await decide(route, who, call, { decisionId: 'one' });
      expect(said(foreign)).toMatch(/^(404 run-not-found|403 forbidden)$/);
      expect(foreign.text).not.toContain('I want it');
    }
    const { body } = await victim.ask('ada', 'GET', `/api/approvals/${call.runId}/${call.toolCallId}`);
    expect(body.decisions).toMatchObject([{ verdict: 'approve', by: { id: 'ada' }, reason: 'I want it' }]);
    expect(done(call)).toBe(1);
  });

  test('after a decline nothing is approved, also not when the run has ended', async () => {
    for (const words of ['delete a', 'delete a and book b']) {
      const call = await victim.hold('ada', words);
      const [decline] = declines as [Route];
      expect((await decide(decline, 'ada', call, { decisionId: 'one' })).status).toBe(200);
      await rest(call);
      for (const decisionId of ['one', 'two']) {
        const late = await decide(route, 'rita', call, { decisionId });
        expect(said(late)).toEqual(tooLate(route));
      }
      expect(done(call)).toBe(0);
    }
  });

  test('after a cancel nothing is approved', async () => {
    const held = await victim.hold('ada', 'delete a', 'desk');
    const cancelled = await victim.ask('ada', 'POST', `/api/runs/${held.runId}/cancel`, {});
    expect([cancelled.status, cancelled.body.status]).toEqual([200, 'cancelled']);
    for (const who of ['ada', 'rita'] as const) {
      const late = await decide(route, who, held);
      expect([route.name, said(late)]).toEqual([
        route.name,
        isByConversation(route) ? '404 run-not-found' : '410 run-ended',
      ]);
    }
    expect(done(held)).toBe(0);
  });

  test('a decision for one run opens no other', async () => {
    const [one, two] = [await victim.hold('ada', 'delete a'), await victim.hold('ada', 'delete a')];
    expect((await decide(route, 'ada', one, { decisionId: 'd' })).status).toBeLessThan(300);
    await rest(one);
    // Same tool, same arguments, and so the same fingerprint.
    expect(two.fingerprint).toBe(one.fingerprint);
    for (const mixed of [
      { ...two, toolCallId: 'call-9-9' },
      { ...one, threadId: two.threadId },
      { ...two, threadId: one.threadId, toolCallId: 'call-9-9' },
    ]) {
      const answer = await decide(route, 'ada', mixed, { decisionId: 'd' });
      const isRepeat = answer.status < 300 && mixed.runId === one.runId;
      expect(isRepeat || answer.status >= 400 || route.name.endsWith('send-tool-approval')).toBe(true);
    }
    expect(done(one)).toBe(1);
  });
});

test('what is cancelled and approved at once is one of both', async () => {
  for (let time = 0; time < 5; time++) {
    const call = await victim.hold('ada', 'delete a');
    const answers = await Promise.all(
      [...approves, ...approves].flatMap((route) => [
        decide(route, 'rita', call),
        victim.ask('ada', 'POST', `/api/runs/${call.runId}/cancel`, {}),
      ]),
    );
    await rest(call);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    const { body } = await victim.ask('ada', 'GET', `/api/approvals/${call.runId}/${call.toolCallId}`);
    const verdicts = body.decisions.map(({ verdict }: { verdict: string }) => verdict);
    expect([['approve'], ['cancel']]).toContainEqual(verdicts);
    // One that is approved may still be cancelled before it begins.
    expect(done(call)).toBeLessThanOrEqual(verdicts[0] === 'approve' ? 1 : 0);
  }
});

test('to continue a run that waits decides nothing', async () => {
  for (const words of ['delete a', 'pay a', 'book a', 'sign a']) {
    const call = await victim.hold('ada', words);
    for (const who of ['ada', 'rita', 'cleo'] as const) {
      const answer = await victim.ask(who, 'POST', `/api/runs/${call.runId}/continue`, {});
      expect([words, who, said(answer)]).toEqual([words, who, '409 run-not-stalled']);
    }
    const { body } = await victim.ask('rita', 'GET', `/api/approvals/${call.runId}/${call.toolCallId}`);
    expect([body.decisions, done(call)]).toEqual([[], 0]);
  }
});

test('an answer for an earlier question is none for the next', async () => {
  const call = await victim.hold('ada', 'book a');
  const resume = decides.filter(({ name }) => /resume/.test(name));
  for (const route of resume) {
    for (const data of [
      true,
      'yes',
      null,
      0,
      '',
      [],
      { approved: true },
      { seats: '2' },
      { seats: null },
      { __proto__: null },
    ]) {
      const answer = await decide(
        route,
        'ada',
        call,
        route.name.endsWith('resume') ? { data } : { resumeData: data },
      );
      expect([route.name, data, said(answer)]).toEqual([route.name, data, '422 invalid-resume-data']);
    }
  }
  for (const route of [...approves, ...decides.filter(({ name }) => name.endsWith('resolve'))]) {
    const answer = await decide(route, 'rita', call);
    expect([route.name, answer.status >= 400, answer.status < 500]).toEqual([route.name, true, true]);
  }
  expect(done(call)).toBe(0);
});

test('who carries out a call answers it within bounds, and only once it is approved', async () => {
  const call = await victim.hold('ada', 'sign a');
  const resume = `/api/approvals/${call.runId}/${call.toolCallId}/resume`;
  expect(said(await victim.ask('ada', 'POST', resume, { stop: 1, data: { signed: true } }))).toBe(
    '403 forbidden',
  );
  expect((await victim.ask('rita', 'POST', `${resume.slice(0, -6)}approve`, { stop: 1 })).status).toBe(202);
  await rest(call);
  for (const levels of [600, 100_000]) {
    const deep = '['.repeat(levels) + ']'.repeat(levels);
    const answer = await victim.ask('rita', 'POST', resume, `{"stop":2,"data":${deep}}`);
    expect([levels, answer.status >= 400 && answer.status < 500]).toEqual([levels, true]);
  }
  expect(said(await victim.ask('ada', 'POST', resume, { stop: 2, data: {} }))).toBe('403 forbidden');
  expect((await victim.ask('rita', 'POST', resume, { stop: 2, data: { signed: 1 } })).status).toBe(202);
});
