/** Decides by conversation: finds the waiting run of a thread in the store (specification: resume after a restart). */
import { CountersignError } from '../core/errors.ts';
import type { Person } from '../core/event.ts';
import type { ListedRun, OpenCall } from '../core/store.ts';
import { optionKeys } from './check-options.ts';
import { decideCall } from './decision.ts';
import { checkKeys, type KeysOf } from './known-keys.ts';
import type { LegOptions } from './options.ts';
import type { AgentCore } from './types.ts';

export interface SendToolApprovalOptions extends LegOptions {
  readonly threadId: string;
  readonly resourceId: string;
  readonly toolCallId?: string | undefined;
  readonly approved: boolean;
  readonly reason?: string | undefined;
  /** For a call that suspended itself. A held call is decided by `approved` alone, whatever this holds. */
  readonly resumeData?: unknown;
  readonly declineContext?:
    | { readonly reason?: string | undefined; readonly message?: string | undefined }
    | undefined;
  readonly decisionId?: string | undefined;
  readonly by?: Person | undefined;
}

const sendKeys = {
  ...optionKeys.leg,
  threadId: true,
  resourceId: true,
  toolCallId: true,
  approved: true,
  reason: true,
  resumeData: true,
  declineContext: true,
  decisionId: true,
  by: true,
} as const satisfies KeysOf<SendToolApprovalOptions>;

export interface SentToolApproval {
  readonly accepted: true;
  readonly runId: string;
  readonly toolCallId: string;
}

/**
 * @throws `run-not-found` when nothing of the thread waits, `ambiguous-run` when several runs do and the call is not
 * named, and what a decision throws.
 */
export async function sendToolApproval(
  agent: AgentCore,
  options: SendToolApprovalOptions,
): Promise<SentToolApproval> {
  checkThread(options);
  checkKeys(options, sendKeys, 'sendToolApproval');
  const { threadId, resourceId, toolCallId, approved, resumeData, declineContext, reason, ...rest } = options;
  const found = await findCallOfThread(agent, { threadId, resourceId, toolCallId });
  const why = reason ?? declineContext?.reason ?? declineContext?.message;
  const decision = {
    ...rest,
    via: 'thread' as const,
    runId: found.runId,
    toolCallId,
    ...(why ? { reason: why } : {}),
  };
  const word = approved ? (found.kind === 'suspended' ? 'resume' : 'approve') : 'decline';
  const data = word === 'resume' ? { data: resumeData } : {};
  await decideCall(agent, decision, { verdict: word, ...data });
  return { accepted: true, runId: found.runId, toolCallId: toolCallId ?? found.toolCallId };
}

function checkThread(options: SendToolApprovalOptions): void {
  const { threadId, resourceId, approved } = options ?? {};
  for (const [name, value] of Object.entries({ threadId, resourceId })) {
    if (typeof value !== 'string' || value === '') {
      throw new CountersignError('invalid-decision', `The ${name} is missing.`, { expected: 'a string' });
    }
  }
  if (typeof approved !== 'boolean') {
    throw new CountersignError('invalid-decision', 'approved is not a boolean.', {
      expected: 'true or false',
    });
  }
  // Without the call, a repeated request could mean what waits by now.
  if (typeof options.decisionId === 'string' && options.toolCallId === undefined) {
    throw new CountersignError('call-required', 'A decision with a decisionId must name its call.', {
      expected: 'toolCallId',
    });
  }
}

export function nothingWaits(agentId: string): CountersignError {
  return new CountersignError('run-not-found', 'Nothing of this conversation waits for a decision.', {
    agentId,
    expected: 'the threadId and resourceId that the run was begun with',
  });
}

export interface FoundCall {
  readonly runId: string;
  readonly toolCallId: string;
  readonly kind: OpenCall['kind'] | undefined;
}

/** The conversation's open run that has the call, or the only one where something waits. */
export async function findCallOfThread(
  agent: AgentCore,
  {
    threadId,
    resourceId,
    toolCallId,
  }: Pick<SendToolApprovalOptions, 'threadId' | 'resourceId' | 'toolCallId'>,
): Promise<FoundCall> {
  const { worker } = agent.binding();
  const query = { agentId: agent.id, threadId, resourceId, status: 'all', limit: 1000 } as const;
  const { runs } = await worker.store.list(query);
  const has = ({ calls }: ListedRun): boolean => calls.some(({ call }) => call.toolCallId === toolCallId);
  const waiting = runs.filter(({ calls }) => calls.length > 0);
  // A call that waits no more may be in any open run of the conversation: the decision then says what became of it.
  const named = toolCallId === undefined ? waiting : waiting.filter(has);
  const candidates = named.length > 0 ? named : runs;
  const [run, ...others] = candidates;
  if (run === undefined) throw nothingWaits(agent.id);
  if (others.length > 0) {
    throw new CountersignError('ambiguous-run', `${candidates.length} runs of this conversation are open.`, {
      agentId: agent.id,
      expected:
        toolCallId === undefined
          ? 'toolCallId, of the call that is decided'
          : 'a decision that names its run: approveToolCall, declineToolCall or resumeStream, with runId',
      todo: 'listSuspendedRuns lists them.',
    });
  }
  const calls = run.calls.filter(({ call }) => toolCallId === undefined || call.toolCallId === toolCallId);
  const latest = calls.reduce<OpenCall | undefined>(
    (newest, { call }) => (newest && newest.stopSeq > call.stopSeq ? newest : call),
    undefined,
  );
  return { runId: run.runId, toolCallId: latest?.toolCallId ?? '', kind: latest?.kind };
}
