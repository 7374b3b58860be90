import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runExample, temporaryFolder } from '../run-example.ts';
import { answer } from './scripted-model.ts';
import { openShop, type Rows } from './shop.ts';

/** A desk in a folder of its own. */
function openDemo() {
  const folder = temporaryFolder();
  return {
    folder,
    run: (args: readonly string[], env?: Record<string, string>, input?: string) =>
      runExample('examples/01-refund-desk/main.ts', [...args, '--folder', folder], env, input),
    rows(): Rows {
      const shop = openShop(join(folder, 'shop.db'));
      try {
        return shop.rows();
      } finally {
        shop.close();
      }
    },
  };
}

const count = (text: string, part: string): number => text.split(part).length - 1;

const refund = { order_id: 'ord-1042', amount: 129.9 };

describe('npm run demo', () => {
  test('--yes: the refund and the mail happen once', async () => {
    const demo = openDemo();
    const { code, stdout, stderr } = await demo.run(['--yes']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { lookups, refunds, mails } = demo.rows();
    expect(lookups).toHaveLength(1);
    expect(refunds).toEqual([refund]);
    expect(mails).toMatchObject([{ address: 'ada@example.com' }]);
    for (const part of [
      'Model: scripted, because no key is set',
      'The database before',
      'Let me look at the order.',
      '✓ ran  find-order',
      '⏸ held  issue-refund',
      '✓ ran  issue-refund',
      '⏸ held  email-customer',
      '✓ ran  email-customer',
      'are on their way',
      'The database after',
    ]) {
      expect(count(stdout, part), part).toBe(1);
    }
    expect(stdout.includes('\u001b')).toBe(false);
  });

  test('--no: nothing is refunded, and the model has read the reason', async () => {
    const demo = openDemo();
    const { code, stdout } = await demo.run(['--no', 'too much']);
    expect(code).toBe(0);
    expect(demo.rows()).toMatchObject({ refunds: [], mails: [] });
    expect(count(stdout, '⏸ held')).toBe(1);
    // The scripted model repeats the result of its call as it came over the wire.
    expect(stdout).toMatch(/Agent: I could not refund .* Reason: too much/);
  });

  test('--yes --restart: one process asks and ends, another one decides', async () => {
    const demo = openDemo();
    const { code, stdout } = await demo.run(['--yes', '--restart']);
    expect(code).toBe(0);
    expect(demo.rows().refunds).toEqual([refund]);
    expect(demo.rows().lookups).toHaveLength(1);
    const pids = [...stdout.matchAll(/Process (\d+) (has started|has ended|found a run)/g)];
    const [first, , second] = pids.map((match) => match[1]);
    expect(first).not.toBe(second);
    expect(pids.map((match) => `${match[1]} ${match[2]}`)).toEqual([
      `${first} has started`,
      `${first} has ended`,
      `${second} has started`,
      `${second} found a run`,
      `${second} has ended`,
    ]);
  });

  test('--team --yes --restart: what two specialists hold is decided at the top, by another process', async () => {
    const demo = openDemo();
    const { code, stdout, stderr } = await demo.run(['--team', '--yes', '--restart']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(demo.rows().refunds).toEqual([refund]);
    expect(demo.rows().mails).toHaveLength(1);
    expect(demo.rows().lookups).toHaveLength(1);
    expect(stdout).toContain('issue-refund, asked for by orders');
    expect(stdout).toContain('email-customer, asked for by letters');
  });

  test('--team --no: the specialist and the supervisor have read the reason', async () => {
    const demo = openDemo();
    const { code, stdout } = await demo.run(['--team', '--no', 'too much']);
    expect(code).toBe(0);
    expect(demo.rows()).toMatchObject({ refunds: [], mails: [] });
    expect(count(stdout, '⏸ held')).toBe(1);
    expect(stdout).toMatch(/Agent: There is no refund\. .*Reason: too much/);
  });

  test('--chat: an answer in words, a decision, and a later process that remembers', async () => {
    const demo = openDemo();
    const first = await demo.run(
      ['--chat', '--yes'],
      {},
      'My lamp arrived broken, please refund it.\nIt is ord-1042.\n',
    );
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' });
    for (const part of [
      '? asked  Which order is it?',
      '✓ ran  resume-find-order',
      '⏸ held  issue-refund',
      '✓ ran  issue-refund',
      'Agent: The money is on its way.',
    ]) {
      expect(count(first.stdout, part), part).toBe(1);
    }
    expect(demo.rows()).toMatchObject({ refunds: [refund], lookups: [{}], mails: [] });
    const later = await demo.run(['--chat', '--yes'], {}, 'Thank you!\n');
    expect(later.stdout).toContain('The conversation goes on: 4 messages are in the store.');
    expect(later.stdout).toContain('Agent: You are welcome.');
    expect(demo.rows().refunds).toEqual([refund]);
  });

  test('--chat: what is held when the process ends is decided by the next one', async () => {
    const demo = openDemo();
    const left = await demo.run(['--chat', '--leave'], {}, 'Please refund order ord-1042.\n');
    expect(left.stdout).toContain('⏸ held  issue-refund');
    expect(demo.rows().refunds).toEqual([]);
    const { stdout } = await demo.run(['--chat', '--no', 'too much'], {}, 'Hello?\n');
    expect(stdout).toContain('✗ declined  issue-refund');
    expect(stdout).toContain('Agent: I could not refund it.');
    expect(demo.rows().refunds).toEqual([]);
  });

  test('what is left waiting is decided by a later process', async () => {
    const demo = openDemo();
    const left = await demo.run(['--leave']);
    expect(left.stdout).toContain('The call keeps waiting');
    expect(demo.rows()).toMatchObject({ refunds: [], mails: [] });
    await demo.run(['--no', 'not today']);
    expect(demo.rows()).toMatchObject({ refunds: [], mails: [] });
    // Nothing waits any more: the next one begins anew.
    await demo.run(['--yes']);
    await demo.run(['--yes']);
    expect(demo.rows().refunds).toEqual([refund]);
  });
});

describe('a model of your own', () => {
  test('an id is used, and when it fails after the refund, the next process goes on', async () => {
    const server = await LLMock.create({ port: 0, logLevel: 'silent' });
    onTestFinished(() => server.stop());
    let isDown = true;
    server.on({}, ({ messages }) => {
      const wasRefunded = messages.some(
        ({ role, content }) => role === 'tool' && `${content}`.includes('refunded'),
      );
      return wasRefunded && isDown
        ? { error: { message: 'The model is out of order.' }, status: 400 }
        : answer(messages);
    });
    const env = {
      COUNTERSIGN_MODEL: 'openai/some-model',
      OPENAI_API_KEY: 'none',
      OPENAI_BASE_URL: `${server.url}/v1`,
    };
    const demo = openDemo();
    const failed = await demo.run(['--yes'], env);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain('Model: openai/some-model');
    expect(failed.stdout).toContain('The model failed. What ran stays done.');
    expect(demo.rows()).toMatchObject({ refunds: [refund], mails: [] });
    isDown = false;
    const { code, stdout } = await demo.run(['--yes'], env);
    expect(code).toBe(0);
    expect(stdout).toContain('found a run in the store: stalled');
    expect(demo.rows().refunds).toEqual([refund]);
    expect(demo.rows().mails).toHaveLength(1);
  });

  test('a missing key is said plainly', async () => {
    const { code, stdout, stderr } = await openDemo().run(['--yes'], {
      COUNTERSIGN_MODEL: 'anthropic/claude',
    });
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('ANTHROPIC_API_KEY');
    expect(stdout + stderr).not.toContain('    at ');
  });
});

describe('the command line', () => {
  test('without a terminal and without a decision, it says what to do and does nothing', async () => {
    const demo = openDemo();
    const { code, stderr } = await demo.run([]);
    expect(code).toBe(2);
    expect(stderr).toContain('There is no terminal to ask in. Decide with --yes or with --no "reason".');
    expect(existsSync(join(demo.folder, 'shop.db'))).toBe(false);
  });

  test.each([
    [['--yes', '--no', 'too much'], 'Choose one of --yes and --no.'],
    [['--no'], '--no'],
    [['--chat', '--team', '--yes'], '--chat goes alone.'],
    [['--maybe'], '--maybe'],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await runExample('examples/01-refund-desk/main.ts', args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
