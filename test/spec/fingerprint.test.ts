/** Specification, binding an approval to the exact arguments: what was not reviewed as it is never runs. */
import { DatabaseSync } from 'node:sqlite';
import {
  type Agent,
  type ApprovalPayload,
  Agent as BareAgent,
  Countersign,
  fingerprint as fingerprintOf,
  type Store,
} from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { type ScriptedCall, type ScriptedModel, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { type AgentClass, onEachStore } from './each-store.ts';
import { approvalBound, countedTools, type Dialog, type Effects } from './fingerprint-example.ts';
import { hushWarnings, promptOf } from './harness.ts';
import { temporaryFile } from './temporary-file.ts';

hushWarnings();

const refund = (orderId: string, amount = 20): ScriptedCall => ({
  toolName: 'issue_refund',
  args: { orderId, amount },
});

type Bound = ReturnType<typeof approvalBound>;

/** The example with counted tools. Without an answer of the dialog, nobody may be asked. */
function desk(
  calls: readonly (readonly ScriptedCall[])[],
  { dialog, storage, Agent = BareAgent }: { dialog?: Dialog; storage?: Store; Agent?: AgentClass } = {},
): Bound & { effects: Effects; model: ScriptedModel } {
  const { effects, issueRefundTool, deleteRecordTool } = countedTools();
  const model = scriptedModel([...calls.map((step) => ({ calls: step })), 'All done.']);
  const showApprovalDialog =
    dialog ?? (() => Promise.reject(new Error('a dialog was shown that nobody expected')));
  const bound = approvalBound({ Agent, model, issueRefundTool, deleteRecordTool, showApprovalDialog });
  if (storage) new Countersign({ agents: { desk: bound.approvalBoundAgent }, storage });
  return { ...bound, effects, model };
}

/** Starts a run that waits, and says what the reviewer would see. */
async function paused(agent: Agent): Promise<{ runId: string; seen: ApprovalPayload[] }> {
  const stream = await agent.stream('Refund order ord-1042', { requireToolApproval: true });
  const seen: ApprovalPayload[] = [];
  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') seen.push(chunk.payload);
  }
  expect(await stream.finishReason).toBe('suspended');
  return { runId: stream.runId, seen };
}

describe('the recursive example', () => {
  const examples = ['fingerprint agent', 'fingerprint stream'] as const;

  onEachStore(examples, 'one refund: one dialog, one execution as reviewed', async ({ Agent }) => {
    const dialogs: unknown[] = [];
    const dialog: Dialog = async (shown) => dialogs.push(shown) > 0;
    // The model's own order of keys, and a key that the schema drops: shown, bound and run is one thing.
    const written = { toolName: 'issue_refund', args: { amount: 20, note: 'x', orderId: 'ord-1042' } };
    const { refundOrder, effects, model, actionFingerprint } = desk([[written]], { dialog, Agent });
    await refundOrder();
    const args = { orderId: 'ord-1042', amount: 20 };
    expect(dialogs).toEqual([
      { toolName: 'issue_refund', args, fingerprint: actionFingerprint('issue_refund', args) },
    ]);
    expect(effects.refunds).toEqual([args]);
    expect(model.calls).toHaveLength(2);
  });

  onEachStore(examples, 'two held calls: two dialogs, whatever the answers', async ({ Agent }) => {
    for (const [first, second] of [
      [true, true],
      [true, false],
      [false, true],
      [false, false],
    ]) {
      const answers = [first, second];
      const dialogs: unknown[] = [];
      const dialog: Dialog = async ({ args }) => {
        dialogs.push(args);
        return answers[dialogs.length - 1] === true;
      };
      const { refundOrder, effects, model } = desk([[refund('ord-1'), refund('ord-2')]], { dialog, Agent });
      await refundOrder();
      expect(dialogs).toEqual([
        { orderId: 'ord-1', amount: 20 },
        { orderId: 'ord-2', amount: 20 },
      ]);
      expect(effects.refunds.map(({ orderId }) => orderId)).toEqual([
        ...(first ? ['ord-1'] : []),
        ...(second ? ['ord-2'] : []),
      ]);
      expect(model.calls).toHaveLength(2);
    }
  });

  onEachStore(examples, 'held calls of two steps: each leg asks for its own', async ({ Agent }) => {
    const dialogs: string[] = [];
    const dialog: Dialog = async ({ toolName }) => dialogs.push(toolName) > 0;
    const steps = [[refund('ord-1')], [{ toolName: 'delete_record', args: { id: 'r-9' } }]];
    const { refundOrder, effects } = desk(steps, { dialog, Agent });
    await refundOrder();
    // The function of the run was not passed with the approval: later calls are held by its loss, too.
    expect(dialogs).toEqual(['issue_refund', 'delete_record']);
    expect(effects.refunds).toHaveLength(1);
    expect(effects.deletions).toEqual(['r-9']);
  });
});

describe('a refund that was not reviewed as it is', () => {
  test('unapproved: a bare approval, without a reviewed fingerprint, runs nothing', async () => {
    const { approvalBoundAgent, effects, model } = desk([[refund('ord-1042')]]);
    const { runId, seen } = await paused(approvalBoundAgent);
    expect(effects.refunds).toEqual([]);
    const approved = await approvalBoundAgent.approveToolCall({ runId, toolCallId: seen[0]?.toolCallId });
    expect(await approved.text).toBe('All done.');
    expect(promptOf(model, 1)).toContain('Tool call blocked: approval did not match issue_refund arguments.');
    expect(effects.refunds).toEqual([]);
  });

  test('unapproved: without any decision nothing runs', async () => {
    const { approvalBoundAgent, effects, model } = desk([[refund('ord-1042')]]);
    const { runId } = await paused(approvalBoundAgent);
    await expect(approvalBoundAgent.resumeStream({ approved: 'yes' }, { runId })).rejects.toThrow();
    await approvalBoundAgent.cancelRun({ runId });
    await expect(approvalBoundAgent.approveToolCall({ runId })).rejects.toThrow();
    expect(effects.refunds).toEqual([]);
    expect(model.calls).toHaveLength(1);
  });

  test('tampered: other arguments were reviewed than those of the call', async () => {
    const { approvalBoundAgent, approvedFingerprints, actionFingerprint, effects } = desk([
      [refund('ord-1042', 2000)],
    ]);
    const { runId } = await paused(approvalBoundAgent);
    approvedFingerprints.add(actionFingerprint('issue_refund', { orderId: 'ord-1042', amount: 20 }));
    const approved = await approvalBoundAgent.approveToolCallGenerate({ runId });
    expect(approved.finishReason).toBe('stop');
    expect(effects.refunds).toEqual([]);
  });

  test('tampered: an approval that names the fingerprint of other arguments is refused', async () => {
    const { approvalBoundAgent, approvedFingerprints, actionFingerprint, effects } = desk([
      [refund('ord-1042', 2000)],
    ]);
    const { runId, seen } = await paused(approvalBoundAgent);
    const reviewed = { orderId: 'ord-1042', amount: 20 };
    const fingerprint = await fingerprintOf({ toolName: 'issue_refund', args: reviewed });
    // Even where the hook would let the call pass.
    approvedFingerprints.add(actionFingerprint('issue_refund', { ...reviewed, amount: 2000 }));
    await expect(approvalBoundAgent.approveToolCall({ runId, fingerprint })).rejects.toMatchObject({
      code: 'fingerprint-mismatch',
    });
    expect(effects.refunds).toEqual([]);
    const { runs } = await approvalBoundAgent.listSuspendedRuns();
    expect(runs.map((run) => run.toolCalls[0]?.fingerprint)).toEqual([seen[0]?.fingerprint]);

    const right = await fingerprintOf({ toolName: 'issue_refund', args: { ...reviewed, amount: 2000 } });
    expect(right).toBe(seen[0]?.fingerprint);
    await approvalBoundAgent.approveToolCallGenerate({ runId, fingerprint: right });
    expect(effects.refunds).toEqual([{ ...reviewed, amount: 2000 }]);
  });

  test('tampered: the arguments were changed in the database after the review', async () => {
    const path = temporaryFile('tampered.db');
    const storage = new SQLiteStore({ path });
    const first = desk([[refund('ord-1042', 20)]], { storage });
    const { runId } = await paused(first.approvalBoundAgent);
    await storage.close();

    const database = new DatabaseSync(path);
    const changed = database
      .prepare(`UPDATE countersign_events SET data = replace(data, '"amount":20', '"amount":2000')`)
      .run();
    expect(changed.changes).toBeGreaterThan(0);
    database.close();

    const reopened = new SQLiteStore({ path });
    const second = desk([], { storage: reopened });
    for (const amount of [20, 2000]) {
      const args = { orderId: 'ord-1042', amount };
      second.approvedFingerprints.add(second.actionFingerprint('issue_refund', args));
    }
    const approved = await second.approvalBoundAgent.approveToolCallGenerate({ runId });
    expect(approved.text).toBe('All done.');
    expect(second.effects.refunds).toEqual([]);
    await reopened.close();
  });

  test('replayed: a fingerprint is good for one execution', async () => {
    const { approvalBoundAgent, approvedFingerprints, actionFingerprint, effects, model } = desk([
      [refund('ord-1042')],
      [refund('ord-1042')],
    ]);
    const { runId } = await paused(approvalBoundAgent);
    approvedFingerprints.add(actionFingerprint('issue_refund', { orderId: 'ord-1042', amount: 20 }));
    const first = await approvalBoundAgent.approveToolCallGenerate({ runId });
    expect(first.finishReason).toBe('suspended');
    expect(effects.refunds).toHaveLength(1);
    // The model asks for the same refund again: it is held anew, and the old review does not carry it.
    const second = await approvalBoundAgent.approveToolCallGenerate({ runId });
    expect(second.text).toBe('All done.');
    expect(promptOf(model, 2)).toContain('Tool call blocked');
    expect(effects.refunds).toHaveLength(1);
  });

  test('replayed: a decision is good for one execution, and a declined call for none', async () => {
    const reviewed = (bound: Bound): void => {
      bound.approvedFingerprints.add(
        bound.actionFingerprint('issue_refund', { orderId: 'ord-1042', amount: 20 }),
      );
    };
    const once = desk([[refund('ord-1042')]]);
    const { runId, seen } = await paused(once.approvalBoundAgent);
    const decision = { runId, toolCallId: seen[0]?.toolCallId, fingerprint: seen[0]?.fingerprint };
    reviewed(once);
    await once.approvalBoundAgent.approveToolCallGenerate(decision);
    reviewed(once);
    await expect(once.approvalBoundAgent.approveToolCall(decision)).rejects.toMatchObject({
      code: 'already-decided',
    });
    expect(once.effects.refunds).toHaveLength(1);

    const never = desk([[refund('ord-1042')]]);
    const waiting = await paused(never.approvalBoundAgent);
    await never.approvalBoundAgent.declineToolCallGenerate({ runId: waiting.runId });
    reviewed(never);
    await expect(never.approvalBoundAgent.approveToolCall({ runId: waiting.runId })).rejects.toMatchObject({
      code: 'already-decided',
    });
    expect(never.effects.refunds).toEqual([]);
  });
});

describe('two approvals at the same time', () => {
  test('by stream: both get the final text, each call runs once', async () => {
    const {
      approvalBoundAgent: agent,
      approvedFingerprints,
      actionFingerprint,
      effects,
      model,
    } = desk([[refund('ord-1'), refund('ord-2')]]);
    const { runId, seen } = await paused(agent);
    for (const { toolName, args } of seen) approvedFingerprints.add(actionFingerprint(toolName, args));
    const legs = await Promise.all(
      seen.map(({ toolCallId }) => agent.approveToolCall({ runId, toolCallId })),
    );
    expect(await Promise.all(legs.map((leg) => leg.text))).toEqual(['All done.', 'All done.']);
    expect(await Promise.all(legs.map((leg) => leg.finishReason))).toEqual(['stop', 'stop']);
    expect(effects.refunds.map(({ orderId }) => orderId).sort()).toEqual(['ord-1', 'ord-2']);
    expect(model.calls).toHaveLength(2);
  });

  test('by generate: the same', async () => {
    const {
      approvalBoundAgent: agent,
      approvedFingerprints,
      actionFingerprint,
      effects,
      model,
    } = desk([[refund('ord-1'), refund('ord-2')]]);
    const { runId, seen } = await paused(agent);
    for (const { toolName, args } of seen) approvedFingerprints.add(actionFingerprint(toolName, args));
    const outputs = await Promise.all(
      seen.map(({ toolCallId }) => agent.approveToolCallGenerate({ runId, toolCallId })),
    );
    expect(outputs.map(({ text }) => text)).toEqual(['All done.', 'All done.']);
    expect(effects.refunds).toHaveLength(2);
    expect(model.calls).toHaveLength(2);
  });
});
