import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { groupWrites } from './group.ts';

/** A database that logs its transactions: the names of the writes, and whether it was full. */
function logged(fails: (names: readonly string[]) => boolean = () => false) {
  const log: string[] = [];
  let names: string[] = [];
  const group = groupWrites((work, full) => {
    names = [];
    const result = work();
    const isFailing = fails(names);
    log.push(`${names.join(' ')}${full ? ' full' : ''}${isFailing ? ' failed' : ''}`);
    if (isFailing) throw new Error(`no ${names.join(' ')}`);
    return result;
  });
  const add = (name: string, full = false): Promise<string> =>
    group.add({
      run() {
        names.push(name);
        return name;
      },
      full,
    });
  return { log, add, flush: group.flush };
}

describe('a group of writes', () => {
  test('the first is committed at once, the others of its turn together', async () => {
    const { log, add } = logged();
    const results = [add('a'), add('b'), add('c')];
    expect(log).toEqual(['a']);
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c']);
    expect(log).toEqual(['a', 'b c']);
  });

  test('writes that follow a group in its turn are a group again', async () => {
    const { log, add } = logged();
    await add('a');
    await Promise.all(['b', 'c'].map((name) => add(name).then(() => add(`${name}2`))));
    expect(log).toEqual(['a', 'b c', 'b2 c2']);
  });

  test('alone in its turn, each is committed at once', async () => {
    const { log, add } = logged();
    const committed = add('a');
    await setImmediate();
    await setImmediate();
    const next = add('b');
    expect(log).toEqual(['a', 'b']);
    expect(await Promise.all([committed, next])).toEqual(['a', 'b']);
  });

  test('it is full if one of it is', async () => {
    const { log, add } = logged();
    await Promise.all([add('a'), add('b'), add('c', true), add('d')]);
    await add('e');
    expect(log).toEqual(['a', 'b c d full', 'e']);
  });

  test('after a failure each is tried by itself, with its own durability', async () => {
    const { log, add } = logged((names) => names.includes('bad'));
    const results = await Promise.allSettled([add('a'), add('b', true), add('bad'), add('c')]);
    expect(
      results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
    ).toEqual(['a', 'b', 'no bad', 'c']);
    expect(log).toEqual(['a', 'b bad c full failed', 'b full', 'bad failed', 'c']);
  });

  test('one that fails alone is tried once', async () => {
    const { log, add } = logged(() => true);
    await expect(add('a')).rejects.toThrow('no a');
    expect(log).toEqual(['a failed']);
  });

  test('flush commits what waits', async () => {
    const { log, add, flush } = logged();
    const results = [add('a'), add('b')];
    flush();
    flush();
    expect(log).toEqual(['a', 'b']);
    expect(await Promise.all(results)).toEqual(['a', 'b']);
  });
});
