/** The specification's two examples on binding approvals to arguments, with what they leave free as parameters. */
import { createTool, type ModelInput, type Tool } from 'countersign';
import { z } from 'zod';
import type { AgentClass } from './each-store.ts';

export type Dialog = (shown: { toolName: string; args: unknown; fingerprint: string }) => Promise<boolean>;

export interface Free {
  readonly Agent: AgentClass;
  readonly model: ModelInput;
  readonly issueRefundTool: Tool;
  readonly deleteRecordTool: Tool;
  readonly showApprovalDialog: Dialog;
}

export function approvalBound({ Agent, model, issueRefundTool, deleteRecordTool, showApprovalDialog }: Free) {
  // Good enough here; the product's own `fingerprint()` is what it says: a stable hash.
  function actionFingerprint(toolName: string, args: unknown) {
    const payload = JSON.stringify({ toolName, args });
    return `fingerprint-${payload}`;
  }

  const sensitiveTools = new Set(['issue_refund', 'delete_record']);
  const approvedFingerprints = new Set<string>();

  const approvalBoundAgent = new Agent({
    id: 'approval-bound-agent',
    name: 'Approval Bound Agent',
    model,
    tools: { issueRefundTool, deleteRecordTool },
    hooks: {
      beforeToolCall: ({ toolName, input }) => {
        // `undefined` here and below is for this repository's noImplicitReturns.
        if (!sensitiveTools.has(toolName)) return undefined;

        const fingerprint = actionFingerprint(toolName, input);
        if (!approvedFingerprints.delete(fingerprint)) {
          return {
            proceed: false,
            output: `Tool call blocked: approval did not match ${toolName} arguments.`,
          };
        }
        return undefined;
      },
    },
  });

  async function refundOrder(): Promise<void> {
    const stream = await approvalBoundAgent.stream('Refund order ord-1042', {
      requireToolApproval: ({ toolName }) => sensitiveTools.has(toolName),
    });

    async function consumeApprovalStream(currentStream: typeof stream) {
      for await (const chunk of currentStream.fullStream) {
        if (chunk.type === 'tool-call-approval') {
          const { toolName, toolCallId, args } = chunk.payload;
          const fingerprint = actionFingerprint(toolName, args);

          const approved = await showApprovalDialog({ toolName, args, fingerprint });

          const nextStream = approved
            ? await approveReviewedToolCall(currentStream.runId, toolCallId, fingerprint)
            : await approvalBoundAgent.declineToolCall({ runId: currentStream.runId, toolCallId });

          await consumeApprovalStream(nextStream);
        }
      }
    }

    async function approveReviewedToolCall(runId: string, toolCallId: string, fingerprint: string) {
      approvedFingerprints.add(fingerprint);
      return approvalBoundAgent.approveToolCall({ runId, toolCallId });
    }

    await consumeApprovalStream(stream);
  }

  return { approvalBoundAgent, approvedFingerprints, actionFingerprint, refundOrder };
}

export interface Effects {
  readonly refunds: { orderId: string; amount: number }[];
  readonly deletions: string[];
}

/** The two free tools, each counting what it does. */
export function countedTools(): Pick<Free, 'issueRefundTool' | 'deleteRecordTool'> & { effects: Effects } {
  const effects: Effects = { refunds: [], deletions: [] };
  return {
    effects,
    issueRefundTool: createTool({
      id: 'issue_refund',
      inputSchema: z.object({ orderId: z.string(), amount: z.number() }),
      execute: async (input) => {
        effects.refunds.push(input);
        return { refunded: true };
      },
    }),
    deleteRecordTool: createTool({
      id: 'delete_record',
      inputSchema: z.object({ id: z.string() }),
      execute: async ({ id }) => {
        effects.deletions.push(id);
        return { deleted: true };
      },
    }),
  };
}
