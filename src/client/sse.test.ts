import { expect, test } from 'vitest';
import { eventsOf, type SseEvent, sseParser } from './sse.ts';

const parsed = (...texts: string[]): SseEvent[] => {
  const push = sseParser();
  return texts.flatMap((text) => push(text));
};

const bodyOf = (bytes: Uint8Array, size: number, onCancel = () => {}): ReadableStream<Uint8Array> => {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
    cancel: onCancel,
  });
};

test.each([
  ['one line', 'data: a\n\n', [{ event: 'message', data: 'a' }]],
  ['no space', 'data:a\n\n', [{ event: 'message', data: 'a' }]],
  ['one space only is taken away', 'data:  a\n\n', [{ event: 'message', data: ' a' }]],
  ['several lines', 'data: a\ndata\ndata: b\n\n', [{ event: 'message', data: 'a\n\nb' }]],
  ['a colon in the value', 'data: {"a":1}\n\n', [{ event: 'message', data: '{"a":1}' }]],
  [
    'a name',
    'event: opened\ndata: a\n\ndata: b\n\n',
    [
      { event: 'opened', data: 'a' },
      { event: 'message', data: 'b' },
    ],
  ],
  ['comments', ': hello\n\n:\ndata: a\n: more\n\n', [{ event: 'message', data: 'a' }]],
  ['no data, no event', 'event: x\n\ndata: a\n\n', [{ event: 'message', data: 'a' }]],
  ['empty data is data', 'data\n\n', [{ event: 'message', data: '' }]],
  ['fields that nobody knows', 'x: y\nfoo\ndata: a\n\n', [{ event: 'message', data: 'a' }]],
  ['what is not ended is dropped', 'data: a\n\ndata: b\n', [{ event: 'message', data: 'a' }]],
  [
    'an id stays, until there is another one',
    'id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n',
    [
      { id: '1', event: 'message', data: 'a' },
      { id: '1', event: 'message', data: 'b' },
      { id: '', event: 'message', data: 'c' },
    ],
  ],
  ['an id without data counts', 'id: 7\n\ndata: a\n\n', [{ id: '7', event: 'message', data: 'a' }]],
  ['an id with a NUL does not', 'id: 1\nid: 2\0\ndata: a\n\n', [{ id: '1', event: 'message', data: 'a' }]],
  [
    'a time to wait',
    'retry: 50\ndata: a\n\nretry: soon\ndata: b\n\n',
    [
      { event: 'message', data: 'a', retry: 50 },
      { event: 'message', data: 'b', retry: 50 },
    ],
  ],
] as const)('%s', (_, text, events) => {
  expect(parsed(text)).toEqual(events);
  expect(parsed(text.replaceAll('\n', '\r\n'))).toEqual(events);
  expect(parsed(text.replaceAll('\n', '\r'))).toEqual(events);
  // However it is cut.
  expect(parsed(...text)).toEqual(events);
  expect(parsed(...text.replaceAll('\n', '\r\n'))).toEqual(events);
  expect(parsed(...text.replaceAll('\n', '\r').split(/(?<=\r)/))).toEqual(events);
});

test('an event that ends with returns alone is there at once', () => {
  const push = sseParser();
  expect(push('data: a\r\r')).toEqual([{ event: 'message', data: 'a' }]);
  expect(push('')).toEqual([]);
  expect(push('\ndata: b\n\n')).toEqual([{ event: 'message', data: 'b' }]);
});

test.each([1, 2, 3, 5, 1000])('characters that are cut in pieces of %i bytes are whole', async (size) => {
  const bytes = new TextEncoder().encode('\uFEFFdata: grün – 🎉\r\n\r\ndata: b\n\n');
  const events = [];
  for await (const event of eventsOf(bodyOf(bytes, size))) events.push(event.data);
  expect(events).toEqual(['grün – 🎉', 'b']);
});

test('who stops reading closes the body', async () => {
  let cancelled = 0;
  const bytes = new TextEncoder().encode('data: a\n\ndata: b\n\n');
  for await (const { data } of eventsOf(
    bodyOf(bytes, 9, () => {
      cancelled++;
    }),
  )) {
    expect(data).toBe('a');
    break;
  }
  expect(cancelled).toBe(1);
});
