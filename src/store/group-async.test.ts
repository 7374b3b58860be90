import { describe, expect, test } from 'vitest';
import { groupAsyncWrites } from './group-async.ts';

/** A database that logs its transactions, and commits when the test says so. */
function logged(fails: (names: readonly string[]) => Error | undefined = () => undefined, limit = 100) {
  const log: string[] = [];
  const commits: (() => void)[] = [];
  const { add } = groupAsyncWrites<string, string>({
    transact: async (names) => {
      log.push(names.join(' '));
      await new Promise<void>((resolve) => commits.push(resolve));
      const error = fails(names);
      if (error) throw error;
      return names.map((name) => `${name} done`);
    },
    isOfOne: (error) => (error as Error).message === 'of one',
    limit,
  });
  /** Commits everything that is asked for, one transaction after the other. */
  async function settled<Result>(
    results: readonly Promise<Result>[],
  ): Promise<PromiseSettledResult<Result>[]> {
    const all = Promise.allSettled(results);
    let isSettled = false;
    void all.then(() => {
      isSettled = true;
    });
    while (!isSettled) {
      commits.shift()?.();
      await Promise.resolve();
    }
    return all;
  }
  return { log, add, settled };
}

const done = (name: string) => ({ status: 'fulfilled', value: `${name} done` });

describe('a group of asynchronous writes', () => {
  test('the first does not wait, those that come meanwhile are committed together', async () => {
    const { log, add, settled } = logged();
    const results = ['a', 'b', 'c'].map(add);
    expect(log).toEqual(['a']);
    expect(await settled(results)).toEqual(['a', 'b', 'c'].map(done));
    expect(log).toEqual(['a', 'b c']);
    expect(await settled([add('d')])).toEqual([done('d')]);
    expect(log).toEqual(['a', 'b c', 'd']);
  });

  test('one that fails by itself does not fail the others', async () => {
    const { log, add, settled } = logged((names) =>
      names.includes('bad') ? new Error('of one') : undefined,
    );
    const results = ['a', 'b', 'bad', 'c'].map(add);
    expect(await settled(results)).toMatchObject([done('a'), done('b'), { status: 'rejected' }, done('c')]);
    expect(log).toEqual(['a', 'b bad c', 'b', 'bad', 'c']);
  });

  test('a lost connection rejects the whole group, once, and the next goes on', async () => {
    const lost = new Error('lost');
    const { log, add, settled } = logged((names) => (names.includes('b') ? lost : undefined));
    const results = ['a', 'b', 'c'].map(add);
    const rejected = { status: 'rejected', reason: lost };
    expect(await settled(results)).toEqual([done('a'), rejected, rejected]);
    expect(await settled([add('d')])).toEqual([done('d')]);
    expect(log).toEqual(['a', 'b c', 'd']);
  });

  test('no transaction has more than its limit', async () => {
    const { log, add, settled } = logged(() => undefined, 2);
    await settled(['a', 'b', 'c', 'd'].map(add));
    expect(log).toEqual(['a', 'b c', 'd']);
  });
});
