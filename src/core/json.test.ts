import { describe, expect, test } from 'vitest';
import { CountersignError } from './errors.ts';
import { canonicalJson, fingerprint, isJson, type Json, setOwn, sha256, toBase64, toJson } from './json.ts';

function errorOf(act: () => unknown): CountersignError {
  try {
    act();
  } catch (thrown) {
    return thrown as CountersignError;
  }
  throw new Error('It did not throw.');
}

class Money {
  readonly amount: number;
  constructor(amount: number) {
    this.amount = amount;
  }
  get doubled(): number {
    return this.amount * 2;
  }
}

const own = (key: string, value: Json): Record<string, Json> => {
  const made: Record<string, Json> = {};
  setOwn(made, key, value);
  return made;
};

describe('toJson keeps (scenario: K12)', () => {
  test.each<[string, unknown, Json]>([
    ['a string with NUL', 'a\u0000b', 'a\u0000b'],
    ['a lone surrogate', 'a\ud800', 'a\ud800'],
    ['a number', -1.5, -1.5],
    ['null', null, null],
    ['undefined alone', undefined, null],
    ['a property that is undefined', { a: undefined, b: 1 }, { b: 1 }],
    ['an item that is undefined', [undefined, 1], [null, 1]],
    ['a hole', Object.assign([1], { 2: 3 }), [1, null, 3]],
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an invalid Date, as JSON has it', new Date(Number.NaN), null],
    ['a URL', new URL('https://a.example/b?c'), 'https://a.example/b?c'],
    ['bytes', new Uint8Array([0, 255, 16]), 'AP8Q'],
    ['a Buffer', Buffer.from('hi'), 'aGk='],
    ['a class instance, by its own properties', new Money(2), { amount: 2 }],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['an error', new TypeError('bad'), { name: 'TypeError', message: 'bad' }],
    ['its own toJSON', { toJSON: () => ({ shown: [1] }) }, { shown: [1] }],
    ['one value at two places', ((one) => [one, one])({ a: 1 }), [{ a: 1 }, { a: 1 }]],
  ])('%s', (_, value, expected) => {
    const json = toJson(value, 'value');
    expect(json).toStrictEqual(expected);
    expect(JSON.parse(JSON.stringify(json))).toStrictEqual(expected);
  });

  test('a property called __proto__, as a property', () => {
    const json = toJson(JSON.parse('{"__proto__":{"polluted":true}}'), 'value') as Record<string, Json>;
    expect(Object.keys(json)).toEqual(['__proto__']);
    expect(JSON.stringify(json)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('a copy: later changes do not reach it', () => {
    const value = { list: [1] };
    const json = toJson(value, 'value');
    value.list.push(2);
    expect(json).toEqual({ list: [1] });
  });
});

describe('toJson refuses, with the path (scenario: K12)', () => {
  const cycle: Record<string, unknown> = { a: {} };
  (cycle.a as Record<string, unknown>).back = cycle;
  const list: unknown[] = [];
  list.push(list);

  test.each<[string, unknown, string]>([
    ['a BigInt', { amounts: [1, 10n] }, 'result at "amounts[1]" holds a BigInt'],
    ['NaN', { a: { b: Number.NaN } }, 'result at "a.b" holds NaN'],
    ['Infinity', Number.NEGATIVE_INFINITY, 'result holds -Infinity'],
    ['a Map', { m: new Map([[1, 2]]) }, 'result at "m" holds a Map'],
    ['a Set', [new Set([1])], 'result at "[0]" holds a Set'],
    ['a function', { run() {} }, 'result at "run" holds a function'],
    ['a symbol', [Symbol('s')], 'result at "[0]" holds a symbol'],
    ['a Promise', { later: Promise.resolve(1) }, 'result at "later" holds a Promise'],
    ['a cycle', cycle, 'result at "a.back" holds a cycle'],
    ['a cycle of lists', list, 'result at "[0]" holds a cycle'],
    ['what toJSON gives', { x: { toJSON: () => 1n } }, 'result at "x" holds a BigInt'],
  ])('%s', (_, value, message) => {
    const error = errorOf(() => toJson(value, 'result'));
    expect(error).toBeInstanceOf(CountersignError);
    expect(error.code).toBe('not-json');
    expect(error.message).toContain(message);
  });

  test('without the value in the message', () => {
    expect(errorOf(() => toJson({ a: 123456789n }, 'result')).message).not.toContain('123456789');
  });
});

describe('isJson', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a list', [1, 'a', null, true, {}]],
    ['an object', { a: { b: [] } }],
    ['an object without prototype', Object.create(null)],
    ['a NUL', '\u0000'],
  ])('true for %s', (_, value) => {
    expect(isJson(value)).toBe(true);
  });

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an undefined property', { a: undefined }],
    ['an undefined item', [undefined]],
    ['a Date', new Date(0)],
    ['a URL', { a: new URL('https://a.example') }],
    ['bytes', new Uint8Array(1)],
    ['a Map', new Map()],
    ['a BigInt', 1n],
    ['NaN', Number.NaN],
    ['a function', () => {}],
    ['a class instance', new Money(1)],
    ['an object with toJSON', { toJSON: () => ({}) }],
    ['a symbol key', { [Symbol('s')]: 1 }],
    ['an error', new Error('x')],
    ['a cycle', ((o: Record<string, unknown>) => Object.assign(o, { o }))({})],
  ])('false for %s', (_, value) => {
    expect(isJson(value)).toBe(false);
  });
});

describe('canonicalJson (RFC 8785)', () => {
  test('the vector of its section 3.2.3: order of keys by UTF-16 units', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(Object.values(JSON.parse(canonicalJson(value)))).toHaveLength(7);
    expect(canonicalJson(value)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
        '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face",' +
        '"\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  test('the vector of its section 3.2.2: literals, numbers, strings', () => {
    const value = {
      numbers: JSON.parse('[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]'),
      string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test.each<[Json, string]>([
    [-0, '0'],
    [1e21, '1e+21'],
    [1e20, '100000000000000000000'],
    [5e-324, '5e-324'],
    [{ b: 1, a: [{ d: 1, c: 2 }] }, '{"a":[{"c":2,"d":1}],"b":1}'],
    ['\u0000', '"\\u0000"'],
  ])('%j is %s', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test('a key called __proto__ counts', () => {
    expect(canonicalJson({ b: 1, ...own('a', 2) })).toBe('{"a":2,"b":1}');
    expect(canonicalJson(own('__proto__', 1))).toBe('{"__proto__":1}');
  });

  test.each(['\ud800', '\udc00 a', 'a \ud83d'])('refuses the lone surrogate in %j', (text) => {
    expect(() => canonicalJson(text)).toThrow();
    expect(() => canonicalJson({ [text]: 1 })).toThrow();
  });
});

describe('fingerprint', () => {
  const call = { toolName: 'refund', args: { order: 'A-1', amount: 20, lines: [{ b: 1, a: 2 }] } };

  test('is SHA-256 over the canonical JSON of { v, toolName, args }, and stays so', async () => {
    expect(await fingerprint({ toolName: 'refund', args: { id: 'A-1' } })).toBe(
      await sha256('{"args":{"id":"A-1"},"toolName":"refund","v":1}'),
    );
    expect(await sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(await fingerprint(call)).toMatch(/^[0-9a-f]{64}$/);
  });

  test('does not see the order of keys', async () => {
    const turned = { lines: [{ a: 2, b: 1 }], amount: 20, order: 'A-1' };
    expect(await fingerprint({ args: turned, toolName: 'refund' })).toBe(await fingerprint(call));
  });

  test.each<[string, { toolName: string; args: unknown }]>([
    ['another amount', { ...call, args: { ...call.args, amount: 21 } }],
    ['a number as a string', { ...call, args: { ...call.args, amount: '20' } }],
    ['one more key', { ...call, args: { ...call.args, note: null } }],
    ['the order of a list', { ...call, args: { ...call.args, lines: [{ b: 1 }, { a: 2 }] } }],
    ['another tool', { ...call, toolName: 'refund2' }],
    ['a composed character', { ...call, args: { ...call.args, order: 'A\u0301-1' } }],
    ['a key called __proto__', { ...call, args: JSON.parse('{"__proto__":1}') }],
  ])('sees %s', async (_, changed) => {
    expect(await fingerprint(changed)).not.toBe(await fingerprint(call));
  });

  test('refuses what has no canonical form, without the value', async () => {
    await expect(fingerprint({ toolName: 't', args: { a: 'secret\ud800' } })).rejects.toMatchObject({
      code: 'not-json',
      message: expect.not.stringContaining('secret'),
    });
    await expect(fingerprint({ toolName: 't', args: 1n })).rejects.toMatchObject({ code: 'not-json' });
  });
});

test('toBase64 of more than one piece is what Buffer makes', () => {
  const bytes = Uint8Array.from({ length: 20_001 }, (_, index) => index % 251);
  expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
});
