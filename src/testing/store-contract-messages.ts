/** The checks of messages: their order, which are read, and what is kept of them. */
import assert from 'node:assert/strict';
import type { MessageKey, MessageQuery, MessageRow, Store } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  createThread,
  removal,
  saidIn,
  same,
  sampleEnd,
  sampleMessage,
  sampleOutcome,
  updatedAt,
} from './store-contract-sample.ts';

const rounds = Array.from({ length: 20 }, (_, round) => round);

/** Messages in the order of their keys: each says its number. */
function inOrder(): MessageRow[] {
  const keys: MessageKey[] = [
    { at: 1, runId: 'z', index: 9 },
    { at: 2, runId: '', index: 0 },
    { at: 2, runId: '', index: 1 },
    { at: 2, runId: 'A', index: 0 },
    { at: 2, runId: 'a', index: 2 },
    { at: 2, runId: 'a', index: 10 },
    { at: 2, runId: 'a~b', index: 0 },
    { at: 2, runId: 'ä', index: 0 },
    { at: 2, runId: 'ｚ', index: 0 },
    { at: 2, runId: '🙂', index: 0 },
    { at: 3, runId: '', index: 0 },
    { at: 20, runId: 'a', index: 0 },
  ];
  return keys.map((key, index) => ({
    ...key,
    threadId: 'thread',
    messageId: `${(index * 7) % 12}`,
    data: `${index}`,
  }));
}

function shuffled(messages: readonly MessageRow[]): MessageRow[] {
  return messages.toSorted((a, b) => Number(a.messageId) - Number(b.messageId));
}

export const messageChecks = checksFrom({
  'messages come in the order of their keys: by time, by run, by index': async ({ open }) => {
    const store = await open();
    const messages = inOrder();
    await createThread(store, 'thread', shuffled(messages));
    same(await store.threads.messages({ threadId: 'thread' }), messages, 'saved at once');
    await createThread(store, 'other');
    const ofOther = messages.map((message) => ({ ...message, threadId: 'other' }));
    for (const message of shuffled(ofOther)) await store.threads.save('other', [message], 1);
    same(await store.threads.messages({ threadId: 'other' }), ofOther, 'saved one by one');
  },

  'messages are read from a key and to a key, both included': async ({ open }) => {
    const store = await open();
    const messages = inOrder();
    await createThread(store, 'thread', shuffled(messages));
    const numbers = messages.map((_, index) => index);
    for (const [index, { at, runId, index: place }] of messages.entries()) {
      const key = { at, runId, index: place };
      same(await saidIn(store, 'thread', { from: key }), numbers.slice(index), `from ${index}`);
      same(await saidIn(store, 'thread', { to: key }), numbers.slice(0, index + 1), `to ${index}`);
      same(await saidIn(store, 'thread', { from: key, to: key }), [index], `${index} alone`);
    }
    const [from, to] = [messages[3], messages[8]] as [MessageRow, MessageRow];
    same(await saidIn(store, 'thread', { from, to }), [3, 4, 5, 6, 7, 8], 'between two');
    same(await saidIn(store, 'thread', { from: to, to: from }), [], 'from a later to an earlier one');
    const between = { at: 2, runId: 'a', index: 5 };
    same(
      await saidIn(store, 'thread', { from: between, last: 100 }),
      [5, 6, 7, 8, 9, 10, 11],
      'from where none is',
    );
    same(await saidIn(store, 'thread', { to: between }), [0, 1, 2, 3, 4], 'to where none is');
  },

  'the newest so many of the messages that are asked for come, in order': async ({ open }) => {
    const store = await open();
    const messages = inOrder();
    await createThread(store, 'thread', shuffled(messages));
    const numbers = messages.map((_, index) => index);
    for (const last of [1, 3, 12, 13]) {
      same(await saidIn(store, 'thread', { last }), numbers.slice(-last), `the last ${last}`);
    }
    const [from, to] = [messages[3], messages[8]] as [MessageRow, MessageRow];
    same(await saidIn(store, 'thread', { to, last: 3 }), [6, 7, 8], 'up to one');
    same(await saidIn(store, 'thread', { from, to, last: 2 }), [7, 8], 'between two');
    same(await saidIn(store, 'thread', { from, to, last: 10 }), [3, 4, 5, 6, 7, 8], 'between two, all');
  },

  'a transcript has what messages say, the newest first, and the places of the first and the last': async ({
    open,
  }) => {
    const store = await open();
    const messages = inOrder();
    await createThread(store, 'thread', shuffled(messages));
    await createThread(store, 'other', [sampleMessage('hello', 1, { threadId: 'other' })]);
    const keys = messages.map(({ at, runId, index }) => ({ at, runId, index }));
    const expected = (first: number, last: number) => ({
      said: messages.slice(first, last + 1).map((_, place) => last - place),
      from: keys[first],
      to: keys[last],
    });
    const read = async (query: Omit<MessageQuery, 'threadId'>, threadId = 'thread') => {
      const { texts, from, to } = await store.threads.transcript({ threadId, ...query });
      return { said: JSON.parse(texts), from, to };
    };
    const nothing = { said: [], from: undefined, to: undefined };
    const [from, to] = [keys[3], keys[8]] as [MessageKey, MessageKey];
    same(await read({}), expected(0, 11), 'all');
    same(await read({ last: 5 }), expected(7, 11), 'the newest');
    for (const last of [12, 13]) same(await read({ last }), expected(0, 11), `the last ${last}`);
    same(await read({ from, to }), expected(3, 8), 'between two');
    same(await read({ from, to, last: 2 }), expected(7, 8), 'the newest between two');
    same(await read({ from, to, last: 10 }), expected(3, 8), 'between two, all');
    same(await read({ from: to, to: from }), nothing, 'from a later to an earlier one');
    same(await read({}, 'never'), nothing, 'of a thread that is not there');
    const odd = [{ text: 'a\u0000b \ud800 👩‍👩‍👧 \u2028"\\' }, { text: 'ä'.repeat(500_000) }];
    await createThread(
      store,
      'odd',
      odd.map((data, index) => sampleMessage(`${index}`, index, { data: ` ${JSON.stringify(data)}\n` })),
    );
    same((await read({}, 'odd')).said, odd.toReversed(), 'however odd or large');
  },

  'a message whose id is in the thread replaces what is said and keeps its place': async ({ open }) => {
    const store = await open();
    const [first, second] = [sampleMessage('first', 1), sampleMessage('second', 2)];
    await createThread(store, 'thread', [first, second]);
    const again = sampleMessage('first', 9, { runId: 'later', index: 7, data: '"changed"' });
    for (const _ of [1, 2]) same(await store.threads.save('thread', [again], 3000), true, 'the answer');
    const expected = [{ ...first, data: '"changed"' }, second];
    same(await store.threads.messages({ threadId: 'thread' }), expected, 'the messages');
    const twice = [
      sampleMessage('third', 3, { data: '"one"' }),
      sampleMessage('third', 8, { data: '"two"' }),
    ];
    await store.threads.save('thread', twice, 3000);
    const third = { ...twice[0], data: '"two"' };
    same(await store.threads.messages({ threadId: 'thread' }), [...expected, third], 'one id twice at once');
    same(await saidIn(store, 'thread', { last: 1 }), ['two'], 'the newest');
  },

  'what is saved moves the thread on, and never back': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread');
    await createThread(store, 'other');
    for (const [at, expected] of [
      [5000, 5000],
      [4000, 5000],
      [5001, 5001],
      [0, 5001],
    ] as const) {
      await store.threads.save('thread', [sampleMessage(`at ${at}`, at + 10_000)], at);
      same(await updatedAt(store, 'thread'), expected, `at ${at}`);
    }
    same((await saidIn(store, 'thread')).length, 4, 'all are kept');
    same((await store.threads.get('thread'))?.createdAt, 1000, 'when it was made');
    same(await updatedAt(store, 'other'), 1000, 'the other thread');
    same(await store.threads.save('thread', [], 6000), true, 'no message');
    same(await updatedAt(store, 'thread'), 6000, 'after no message');
  },

  'messages of a thread that is not there are dropped, and save says false': async ({ open }) => {
    const store = await open();
    await createThread(store, 'removed', [sampleMessage('hello', 1)]);
    await store.threads.remove('removed');
    for (const threadId of ['never', 'removed']) {
      const late = sampleMessage('late', 2, { threadId });
      same(await store.threads.save(threadId, [late], 9000), false, threadId);
      same(await saidIn(store, threadId), [], `the messages of "${threadId}"`);
      assert.equal(await store.threads.get(threadId), undefined, threadId);
      await createThread(store, threadId);
      same(await saidIn(store, threadId), [], `the messages of a new "${threadId}"`);
    }
  },

  'messages of the same ids in different threads do not mix': async ({ open }) => {
    const store = await open();
    const of = (threadId: string) => sampleMessage('hello', 1, { threadId, data: `"of ${threadId}"` });
    for (const threadId of ['a', 'b']) await createThread(store, threadId, [of(threadId)]);
    await store.threads.save('a', [{ ...of('a'), data: '"changed"' }], 1);
    same(await saidIn(store, 'a'), ['changed'], 'of the one');
    same(await saidIn(store, 'b'), ['of b'], 'of the other');
  },

  'messages come back to the letter, however odd or large': async ({ open }) => {
    const store = await open();
    const ids = [
      'm',
      'M',
      'm ',
      ' m',
      'm%',
      'm_',
      'm~n',
      'ä',
      'a\u0308',
      "'; --",
      '"',
      '\\',
      '🙂',
      '1',
      '01',
      '',
    ];
    const texts = [
      JSON.stringify({
        nul: 'a\u0000b',
        lone: '\ud800',
        lines: '\r\n\t\u2028"\\\'?;--{},NULL',
        emoji: '👩‍👩‍👧 ✔︎',
      }),
      '{"__proto__":{"polluted":true},"constructor":1}',
      '  {"a" : 1.0 , "a":2e3}\n',
      `"${'ä'.repeat(500_000)}"`,
    ];
    const messages = ids.map((messageId, index) => ({
      ...sampleMessage(messageId, index, { runId: ids.at(-index) as string, index }),
      data: texts[index % 4] as string,
    }));
    await createThread(store, 'thread', messages);
    const found = await store.threads.messages({ threadId: 'thread' });
    same(
      found.map(({ data: _, ...message }) => message),
      messages.map(({ data: _, ...message }) => message),
      'ids',
    );
    for (const [index, { data }] of found.entries()) {
      assert.ok(data === messages[index]?.data, `message ${index} is another text`);
    }
  },

  'of messages that are given nothing is kept or changed': async ({ open }) => {
    const store = await open();
    const given = sampleMessage('hello', 1);
    await createThread(store, 'thread');
    await store.threads.save('thread', Object.freeze([given]), 1000);
    const late = sampleMessage('late', 2);
    await create(store, 'run');
    await store.remove(removal('run', Object.freeze([late])), sampleOutcome, 1000);
    const found = await store.threads.messages({ threadId: 'thread' });
    for (const message of [given, late, ...found]) (message as { data: string }).data = '"changed"';
    same(await saidIn(store, 'thread'), ['hello', 'late'], 'the messages');
  },

  'messages that are saved at once are all kept': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store)];
    const ids = rounds.map((round) => `message ${String(round).padStart(2, '0')}`);
    for (const threadId of ['a', 'b']) await createThread(store, threadId);
    await Promise.all(
      ids.flatMap((id, index) =>
        ['a', 'b'].map((threadId) =>
          (stores[index % 2] as Store).threads.save(
            threadId,
            [sampleMessage(id, index, { threadId })],
            2000 + index,
          ),
        ),
      ),
    );
    for (const [index, threadId] of ['a', 'b'].entries()) {
      same(await saidIn(stores[index] as Store, threadId), ids, `the messages of "${threadId}"`);
      same(await updatedAt(stores[index] as Store, threadId), 2019, `the time of "${threadId}"`);
    }
  },

  'when a thread is removed and spoken in at once, no message remains': async ({ open, second }) => {
    const store = await open();
    const other = await second(store);
    for (const round of rounds) {
      const threadId = `thread ${round}`;
      await createThread(store, threadId, [sampleMessage('first', 1)]);
      await create(store, `run ${round}`);
      const late = [sampleMessage('late', 2, { threadId })];
      const writes = [
        () => other.threads.save(threadId, late, 2000),
        () => store.threads.remove(threadId),
        () => other.remove(removal(`run ${round}`, late), sampleOutcome, sampleEnd),
      ];
      const first = round % 3;
      await Promise.all([...writes.slice(first), ...writes.slice(0, first)].map((write) => write()));
      same(await saidIn(store, threadId), [], 'the messages');
      await createThread(other, threadId);
      same(await saidIn(other, threadId), [], 'the messages of a new thread');
    }
  },

  'what one handle says in a thread, the other reads at once': async ({ open, second }) => {
    const store = await open();
    const other = await second(store);
    await createThread(store, 'thread');
    same((await other.threads.get('thread'))?.threadId, 'thread', 'the thread');
    await other.threads.save('thread', [sampleMessage('hello', 1)], 2000);
    same(await saidIn(store, 'thread'), ['hello'], 'a message');
    same(await updatedAt(store, 'thread'), 2000, 'its time');
    await create(other, 'run');
    await other.remove(removal('run', [sampleMessage('well', 2)]), sampleOutcome, 3000);
    same(await saidIn(store, 'thread'), ['hello', 'well'], 'what a run has left');
    await store.threads.remove('thread');
    assert.equal(await other.threads.get('thread'), undefined, 'the thread is gone');
    same(await saidIn(other, 'thread'), [], 'and its messages');
  },
});
