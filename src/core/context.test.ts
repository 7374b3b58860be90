import { describe, expect, test } from 'vitest';
import { restoredContext, storableContext } from '../agent/stored-context.ts';
import { RequestContext } from './context.ts';

describe('RequestContext', () => {
  test('is a map that knows what is secret', () => {
    const context = new RequestContext([['tenant', 'acme']]).set('key', 's3cret', { secret: true });
    expect([context.get('tenant'), context.get('key'), context.has('none')]).toEqual([
      'acme',
      's3cret',
      false,
    ]);
    expect(context.toObject()).toEqual({ tenant: 'acme', key: 's3cret' });
    expect(JSON.stringify(context)).toBe('{"tenant":"acme"}');
    expect([...context.keys()]).toEqual(['tenant', 'key']);
  });

  test('the last word on a key counts', () => {
    const context = new RequestContext().set('key', 1, { secret: true }).set('key', 2);
    expect(context.isSecret('key')).toBe(false);
    context.set('key', 3, { secret: true });
    expect(context.delete('key')).toBe(true);
    expect(context.isSecret('key')).toBe(false);
    expect(context.delete('key')).toBe(false);
  });
});

describe('what is stored (scenario: K13)', () => {
  test('only what JSON can hold to the letter, and nothing secret', () => {
    const context = new RequestContext([
      ['tenant', 'acme'],
      ['roles', ['admin']],
      ['since', new Date(0)],
      ['client', () => {}],
      ['nothing', undefined],
      ['token', 'by key'],
      ['__proto__', 'odd'],
    ]).set('secret', 'by option', { secret: true });
    const { stored, missing } = storableContext(context, ['token']);
    expect(JSON.stringify(stored)).toBe('{"tenant":"acme","roles":["admin"],"__proto__":"odd"}');
    expect(missing).toEqual(['since', 'client', 'nothing', 'token', 'secret']);
  });
});

describe('what a later leg may supply', () => {
  const stored = { tenant: 'acme', limits: { amount: 100 } };

  test('the missing keys, which stay secret', () => {
    const context = restoredContext(stored, ['token'], new RequestContext([['token', 't']]), 'run-1');
    expect(context.toObject()).toEqual({ ...stored, token: 't' });
    expect(context.isSecret('token')).toBe(true);
    expect(context.isSecret('tenant')).toBe(false);
  });

  test('nothing, and a stored key with its own value', () => {
    expect(restoredContext(stored, [], undefined, 'run-1').toObject()).toEqual(stored);
    const same = new RequestContext([['limits', { amount: 100 }]]);
    expect(restoredContext(stored, [], same, 'run-1').toObject()).toEqual(stored);
  });

  test.each<[string, string, unknown]>([
    ['another value', 'tenant', 'evil'],
    ['a deeper change', 'limits', { amount: 101 }],
    ['a key that is not open', 'admin', true],
    ['a key of the prototype', 'toString', 'x'],
    ['undefined for a stored key', 'tenant', undefined],
  ])('never %s', (_, key, value) => {
    const supplied = new RequestContext([[key, value]]);
    expect(() => restoredContext(stored, ['token'], supplied, 'run-1')).toThrow(
      expect.objectContaining({ code: 'context-conflict', runId: 'run-1' }),
    );
  });

  test('the error names no value', () => {
    const supplied = new RequestContext([['tenant', 'hunter2']]);
    expect(() => restoredContext(stored, [], supplied, 'run-1')).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/hunter2|acme/) }),
    );
  });
});
