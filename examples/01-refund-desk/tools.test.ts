import { Agent, Countersign } from 'countersign';
import { createServer } from 'countersign/server';
import { expect, test } from 'vitest';
import type { Shop } from './shop.ts';
import { teamFor } from './team.ts';
import { toolsFor } from './tools.ts';

test('over HTTP a refund is for a reviewer, in the desk and in the team', () => {
  const model = 'openai/gpt-5-mini';
  const tools = toolsFor({} as Shop);
  const agents = { desk: new Agent({ id: 'desk', model, tools }), team: teamFor(model, tools) };
  const held: object[] = [];
  const note = (facts: object): void => void held.push(facts);
  createServer({
    countersign: new Countersign({ agents }) as unknown as Countersign,
    logger: { info: note, warn: note, error: note },
  });
  for (const agentId of ['desk', 'orders']) {
    const refund = { agentId, toolName: 'issue-refund', held: 'depends', approver: 'reviewer' };
    expect(held).toContainEqual(refund);
  }
});
