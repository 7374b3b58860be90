/** As a page has it: one file without imports, where there is nothing but what every browser has. */
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { build } from 'vite';
import { expect, test } from 'vitest';
import { openDesk } from '../server/test-support/desk.ts';
import type * as client from './index.ts';
import { clientsOf } from './test-support/clients.ts';

async function bundled(): Promise<string> {
  const entry = fileURLToPath(new URL('index.ts', import.meta.url));
  const lib = { entry, formats: ['iife' as const], name: 'client' };
  const built = await build({ configFile: false, logLevel: 'error', build: { write: false, lib } });
  const [{ output }] = built as unknown as [{ output: { type: string; code: string; imports: string[] }[] }];
  expect(output.map(({ type, imports }) => [type, imports])).toEqual([['chunk', []]]);
  return output[0]?.code ?? '';
}

test('it runs where there is fetch and no Node, and is small', async () => {
  const code = await bundled();
  expect(code.length).toBeLessThan(12_000);
  const page = createContext({
    ...{
      fetch,
      crypto,
      TextDecoder,
      URLSearchParams,
      AbortController,
      AbortSignal,
      setTimeout,
      clearTimeout,
    },
    // Of plain-http pages: random bytes, but no `randomUUID`.
    crypto: { getRandomValues: crypto.getRandomValues.bind(crypto) },
  });
  const { CountersignClient } = runInContext(`${code}; client`, page) as typeof client;
  const desk = openDesk();
  const { url } = await clientsOf(desk);
  const agent = new CountersignClient({ baseUrl: url, headers: { authorization: 'Bearer ada' } }).getAgent(
    'desk',
  );
  const types: string[] = [];
  await (await agent.stream('Hi')).processDataStream({ onChunk: ({ type }) => types.push(type) });
  expect(types.at(-1)).toBe('finish');
  const { runId, suspendPayload } = await agent.generate('delete a');
  await agent.approveToolCallGenerate({ runId, toolCallId: suspendPayload?.toolCallId ?? '' });
  expect(desk.done).toEqual(['delete a']);
});
