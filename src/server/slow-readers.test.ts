import { once } from 'node:events';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createTool } from '../agent/create-tool.ts';
import { serve } from './serve.ts';
import { openDesk } from './test-support/desk.ts';

const megabyte = 1024 * 1024;
/** What the run says in all, in megabytes: far more than a stream keeps. */
const said = 96;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
const held = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / megabyte;
};

test('a reader that never reads blocks no run, and is kept no more for it than a stream keeps', async () => {
  const look = createTool({
    id: 'look',
    inputSchema: z.object({ what: z.string() }),
    execute: async (_, { writer }) => {
      for (let count = 0; count < said; count++) {
        await writer.write(Buffer.alloc(megabyte, 97 + (count % 26)).toString('latin1'));
      }
      return 'looked';
    },
  });
  const ended = Promise.withResolvers<string>();
  const onFinish = ({ finishReason }: { finishReason: string }) => ended.resolve(finishReason);
  const desk = openDesk({ agent: { tools: { look }, defaultOptions: { onFinish } } });
  const server = await serve(desk.app, { port: 0 });
  onTestFinished(() => server.close({ within: 0 }));
  const before = held();

  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const body = JSON.stringify({ messages: 'look a' });
  const head = ['POST /api/agents/desk/stream HTTP/1.1', 'host: localhost', 'authorization: Bearer ada'];
  const of = ['content-type: application/json', `content-length: ${body.length}`, 'connection: close'];
  socket.write([...head, ...of, '', body].join('\r\n'));

  expect(await ended.promise).toBe('stop');
  expect(desk.model.calls).toHaveLength(2);
  expect(held() - before).toBeLessThan(said / 2);
  // Others are served meanwhile.
  expect((await desk.get('ben', '/api/agents')).status).toBe(200);

  let received = 0;
  let last = '';
  for await (const part of socket) {
    received += part.length;
    last = (last + part.toString('latin1')).slice(-megabyte);
  }
  expect(last).toContain('"code":"stream-overflow"');
  expect(last).toContain('data: [DONE]');
  expect(received).toBeLessThan((said / 2) * megabyte);
});
