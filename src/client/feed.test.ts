/** The client's subscription and record at a server that has them. */
import { expect, test } from 'vitest';
import { openDesk } from '../server/test-support/desk.ts';
import { InMemoryStore } from '../store/memory.ts';
import type { ApprovalEvent } from './index.ts';
import { clientsOf } from './test-support/clients.ts';

const text = (event: ApprovalEvent): string =>
  'toolName' in event ? `${event.type} ${event.toolName}` : event.type;

test('what opens, is decided and is settled is told, and the record has it', async () => {
  const desk = openDesk();
  const { clientOf } = await clientsOf(desk);
  const rita = clientOf('rita');
  const told: string[] = [];
  for await (const event of rita.approvals.subscribe({ agentId: 'desk' })) {
    told.push(text(event));
    if (event.type === 'ready') await desk.hold('ada', 'delete a');
    if (event.type === 'opened') {
      expect(event).toMatchObject({ kind: 'held', resourceId: 'ada', stop: 1 });
      const { runId, toolCallId, stop } = event;
      await rita.approvals.approve({ runId, toolCallId, stop, reason: 'fine' });
    }
    if (event.type === 'decided') {
      expect(event.decision).toMatchObject({ verdict: 'approve', by: { id: 'rita' }, reason: 'fine' });
    }
    if (event.type === 'settled') {
      expect(event.state).toBe('finished');
      break;
    }
  }
  expect(told).toEqual(['ready', 'opened delete', 'decided delete', 'settled delete']);
  const { decisions, total } = await rita.decisions.list({ by: 'rita', verdict: 'approve', order: 'oldest' });
  expect(total).toBe(1);
  expect(decisions).toMatchObject([{ toolName: 'delete', reason: 'fine', resourceId: 'ada' }]);
  expect((await clientOf('ben').decisions.list()).decisions).toEqual([]);
});

test('a server that closes and another one on its store: nothing is missed, and nothing comes twice', async () => {
  const storage = new InMemoryStore();
  const first = openDesk({ registry: { storage } });
  const second = openDesk({ registry: { storage } });
  const served = await clientsOf(first);
  const other = await clientsOf(second);
  let base = served.url;
  const gone: string[] = [];
  // As a load balancer does: the same address, another server.
  const balanced: typeof fetch = (input, init) => fetch(String(input).replace(served.url, base), init);
  const ada = served.clientOf('ada', { fetch: balanced });
  const told: string[] = [];
  const onDisconnect = ({ code }: { code: string }) => void gone.push(code);
  for await (const event of ada.approvals.subscribe({ onDisconnect })) {
    told.push(text(event));
    if (event.type === 'ready') await first.hold('ada', 'delete a');
    else if (event.type === 'opened' && event.toolName === 'delete') {
      base = other.url;
      await served.close();
      await second.hold('ada', 'pay b');
    } else break;
  }
  expect(told).toEqual(['ready', 'opened delete', 'opened pay']);
  expect(gone.length).toBeGreaterThan(0);
});

test('others are told nothing of it', async () => {
  const desk = openDesk();
  const { clientOf } = await clientsOf(desk);
  const told: string[] = [];
  for await (const event of clientOf('ben').approvals.subscribe()) {
    told.push(text(event));
    if (event.type !== 'ready') break;
    await desk.hold('ada', 'delete a');
    await desk.hold('ben', 'delete b');
  }
  expect(told).toEqual(['ready', 'opened delete']);
  await expect(
    clientOf('ben').approvals.subscribe({ resourceId: 'ada', onEvent: () => {} }),
  ).rejects.toMatchObject({ code: 'forbidden' });
  await expect(clientOf(undefined).approvals.subscribe({ onEvent: () => {} })).rejects.toMatchObject({
    code: 'unauthenticated',
  });
});
