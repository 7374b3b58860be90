import { describe, expect, test } from 'vitest';
import { accessBy, type CallFacts } from './access.ts';
import { people } from './test-support/desk.ts';

const authenticate = () => null;
const run = { runId: 'r', agentId: 'desk', threadId: 't' };
const call = (facts: Partial<CallFacts> = {}): CallFacts => ({
  ...run,
  resourceId: 'ada',
  toolCallId: 'c',
  toolName: 'pay',
  approver: 'owner',
  ...facts,
});
const { ada, ben, rita, cleo, nobody } = people;

describe('who may see', () => {
  const { mayRead, scopeOf, resourceFor } = accessBy({ authenticate });
  test.each([
    ['its owner', ada, 'ada', true],
    ['another one', ben, 'ada', false],
    ['a reviewer', rita, 'ada', true],
    ['a reviewer, of nobody’s', rita, undefined, true],
    ['somebody, of nobody’s', ada, undefined, false],
    ['somebody without a resource, of nobody’s', nobody, undefined, false],
    ['nobody', undefined, 'ada', false],
  ])('%s', async (_, identity, resourceId, expected) => {
    expect(await mayRead(identity, { ...run, resourceId })).toBe(expected);
  });

  test.each([
    ['its owner', ada, 'ada', true],
    ['another one', ben, 'ada', false],
    ['a reviewer', rita, 'ada', true],
    ['somebody without a resource, of nobody’s', nobody, undefined, false],
    ['nobody', undefined, 'ada', false],
  ])('and move: %s, whatever canRead says', (_, identity, resourceId, expected) => {
    const { mayMove } = accessBy({ authenticate, canRead: () => true });
    expect(mayMove(identity, { ...run, resourceId })).toBe(expected);
    expect(accessBy(undefined).mayMove(identity, { ...run, resourceId })).toBe(true);
  });

  test('a list is narrowed to what may be seen', () => {
    expect(scopeOf(ada, undefined)).toEqual({ resourceId: 'ada' });
    expect(scopeOf(ada, 'ada')).toEqual({ resourceId: 'ada' });
    expect(() => scopeOf(ada, 'ben')).toThrow(expect.objectContaining({ code: 'forbidden' }));
    expect(() => scopeOf(nobody, 'ada')).toThrow(expect.objectContaining({ code: 'forbidden' }));
    expect([scopeOf(nobody, undefined), scopeOf(undefined, undefined)]).toEqual(['nothing', 'nothing']);
    expect([scopeOf(rita, undefined), scopeOf(rita, 'ben')]).toEqual([{}, { resourceId: 'ben' }]);
  });

  test('a run begins with the resource of its identity, and no other', () => {
    expect([resourceFor(ada, undefined), resourceFor(ada, 'ada')]).toEqual(['ada', 'ada']);
    for (const identity of [ben, rita, nobody]) {
      expect(() => resourceFor(identity, 'ada')).toThrow(expect.objectContaining({ code: 'forbidden' }));
    }
    // Without one it would be nobody's, and a reviewer's who approves it.
    for (const identity of [rita, nobody]) {
      expect(() => resourceFor(identity, undefined)).toThrow(expect.objectContaining({ code: 'forbidden' }));
    }
  });
});

describe('who may decide', () => {
  const { mayDecide } = accessBy({ authenticate });
  test.each([
    ['the owner', ada, {}, true],
    ['another one', ben, {}, false],
    ['a reviewer', rita, {}, true],
    ['the owner, where a reviewer must', ada, { approver: 'reviewer' }, false],
    ['a reviewer, where one must', rita, { approver: 'reviewer' }, true],
    ['a reviewer who owns it', cleo, { approver: 'reviewer' }, false],
    ['a reviewer, of nobody’s', rita, { resourceId: undefined, approver: 'reviewer' }, true],
    ['somebody without a resource, of nobody’s', nobody, { resourceId: undefined }, false],
    ['nobody', undefined, {}, false],
  ] as const)('%s', async (_, identity, facts, expected) => {
    expect(await mayDecide(identity, call(facts))).toBe(expected);
  });

  test('canDecide refuses, and never allows more', async () => {
    const always = accessBy({ authenticate, canDecide: () => true });
    const never = accessBy({ authenticate, canDecide: async () => false });
    const odd = accessBy({ authenticate, canDecide: () => 'yes' as never });
    expect(await always.mayDecide(ada, call({ approver: 'reviewer' }))).toBe(false);
    expect(await always.mayDecide(ben, call())).toBe(false);
    expect(await always.mayDecide(ada, call())).toBe(true);
    expect([await never.mayDecide(rita, call()), await odd.mayDecide(rita, call())]).toEqual([false, false]);
  });

  test('canRead stands in for the rule of reading, and decides nothing', async () => {
    const open = accessBy({ authenticate, canRead: (identity) => identity.id === 'ben' });
    expect(await open.mayRead(ben, { ...run, resourceId: 'ada' })).toBe(true);
    expect(await open.mayRead(ada, { ...run, resourceId: 'ada' })).toBe(false);
    expect(await open.mayDecide(ben, call())).toBe(false);
    expect(open.scopeOf(ben, undefined)).toEqual({});
  });
});

test('without auth everybody on the machine may', async () => {
  const { mayRead, mayDecide, scopeOf, resourceFor } = accessBy(undefined);
  expect(await mayRead(undefined, run)).toBe(true);
  expect(await mayDecide(undefined, call({ approver: 'reviewer' }))).toBe(true);
  expect([scopeOf(undefined, undefined), resourceFor(undefined, 'ada')]).toEqual([{}, 'ada']);
});
