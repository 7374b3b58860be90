import { expect, test } from 'vitest';
import { replayBuffer } from './buffer.ts';

const whole = (item: string): string => item;

function bufferOf(limit: number) {
  return replayBuffer<string>((item) => item.length, limit);
}

async function all(stream: AsyncIterable<string>): Promise<string[]> {
  const items: string[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

test('every reader gets all items from the first', async () => {
  const buffer = bufferOf(10);
  const early = all(buffer.read(whole));
  buffer.push('one');
  buffer.push('two');
  buffer.end();
  expect(await early).toEqual(['one', 'two']);
  expect(await all(buffer.read(whole))).toEqual(['one', 'two']);
});

test('a reader that keeps up reads on, however much has been dropped behind it', async () => {
  const buffer = bufferOf(10);
  const reader = buffer.read(whole)[Symbol.asyncIterator]();
  for (let index = 0; index < 1000; index++) {
    buffer.push(`item ${index}`);
    expect(await reader.next()).toEqual({ done: false, value: `item ${index}` });
  }
  buffer.end();
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test('a reader a few items behind reads on, and one that is further behind than is kept is told', async () => {
  const buffer = bufferOf(30);
  const near = buffer.read(whole)[Symbol.asyncIterator]();
  const far = buffer.read(whole)[Symbol.asyncIterator]();
  const texts = Array.from({ length: 500 }, (_, index) => `${1000 + index}`);
  for (const [index, text] of texts.entries()) {
    buffer.push(text);
    if (index >= 5) expect((await near.next()).value).toBe(texts[index - 5]);
  }
  await expect(far.next()).rejects.toMatchObject({ code: 'stream-overflow' });
});

test('what alone is more than the limit is kept while it is the last', async () => {
  const buffer = bufferOf(10);
  buffer.push('small');
  const reader = buffer.read(whole)[Symbol.asyncIterator]();
  await reader.next();
  buffer.push('far more than ten');
  expect((await reader.next()).value).toBe('far more than ten');
});

test('a failure comes after the last item', async () => {
  const buffer = bufferOf(10);
  buffer.push('one');
  buffer.end();
  const reader = buffer.read(whole, () => new Error('It broke.'))[Symbol.asyncIterator]();
  expect((await reader.next()).value).toBe('one');
  await expect(reader.next()).rejects.toThrow('It broke.');
});

test('what is asked for at once comes in order', async () => {
  const buffer = bufferOf(10);
  const reader = buffer.read(whole)[Symbol.asyncIterator]();
  const asked = [reader.next(), reader.next()];
  buffer.push('one');
  buffer.push('two');
  buffer.push('three');
  asked.push(reader.next());
  buffer.end();
  asked.push(reader.next());
  const values = (await Promise.all(asked)).map(({ value }) => value);
  expect(values).toEqual(['one', 'two', 'three', undefined]);
});

test('whoever passes the items on may fail', async () => {
  const buffer = bufferOf(10);
  buffer.push('one');
  async function* passedOn(): AsyncGenerator<string> {
    yield* buffer.read(whole);
  }
  const items = passedOn();
  await items.next();
  await expect(items.throw(new Error('It broke.'))).rejects.toThrow('It broke.');
});

test('what cannot be selected ends the reader', async () => {
  const buffer = bufferOf(10);
  buffer.push('one');
  const select = (): string => {
    throw new Error('It broke.');
  };
  const reader = buffer.read(select)[Symbol.asyncIterator]();
  await expect(reader.next()).rejects.toThrow('It broke.');
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test('a reader that stops while it waits is done at once, and gets nothing more', async () => {
  const buffer = bufferOf(10);
  const reader = buffer.read(whole)[Symbol.asyncIterator]();
  const asked = reader.next();
  expect(await reader.return?.()).toEqual({ done: true, value: undefined });
  buffer.push('one');
  expect(await asked).toEqual({ done: true, value: undefined });
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test('a web stream that is cancelled while it waits is closed at once', async () => {
  const buffer = bufferOf(10);
  const reader = buffer.read(whole).getReader();
  const asked = reader.read();
  await reader.cancel();
  expect(await asked).toEqual({ done: true, value: undefined });
});

test('after its failure a reader is at its end', async () => {
  const buffer = bufferOf(10);
  buffer.end();
  const reader = buffer.read(whole, () => new Error('It broke.'))[Symbol.asyncIterator]();
  await expect(reader.next()).rejects.toThrow('It broke.');
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});
