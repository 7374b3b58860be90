/** Decides by conversation, for pages that do not know the run. */
import type { Agent } from '../agent/agent.ts';
import { findCallOfThread, nothingWaits, type SentToolApproval } from '../agent/thread-approval.ts';
import { subAgent } from '../agent/types.ts';
import type { ErrorCode } from '../core/errors.ts';
import { callRequired, words, wordsOf } from './decide.ts';
import {
  anything,
  callId,
  checkFields,
  type Field,
  type Fields,
  flag,
  id,
  isObject,
  required,
  schemaOf,
  text,
} from './field.ts';
import { checkMayDecide, findRun } from './found-run.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';

const declineFields: Fields = { reason: text, message: text };

const declineContext: Field = {
  schema: schemaOf(declineFields),
  problem(value) {
    if (!isObject(value)) return 'must be { reason?, message? }';
    checkFields(value, declineFields, 'body', 'declineContext.');
    return undefined;
  },
};

export const sendFields: Fields = {
  threadId: required(id),
  resourceId: required(id),
  toolCallId: callId,
  approved: required(flag),
  resumeData: anything,
  declineContext,
  ...words,
};

export const sendErrors: readonly ErrorCode[] = [
  ...([
    'already-decided',
    'ambiguous-run',
    'call-not-found',
    'call-not-waiting',
    'call-required',
    'fingerprint-mismatch',
  ] as const),
  ...(['forbidden', 'invalid-resume-data', 'run-not-found', 'stop-mismatch'] as const),
];

interface SendBody {
  readonly threadId: string;
  readonly resourceId: string;
  readonly toolCallId?: string;
  readonly approved: boolean;
  readonly resumeData?: unknown;
  readonly reason?: string;
  readonly declineContext?: { readonly reason?: string; readonly message?: string };
}

/**
 * The call is found first, and then decided by the ids that were found, so that the one who may decide it is the one
 * who does.
 */
export async function sendApproval(
  parts: ServerParts,
  agent: Agent,
  identity: Identity | undefined,
  body: Readonly<Record<string, unknown>>,
): Promise<SentToolApproval> {
  const { threadId, resourceId, toolCallId, approved, resumeData, ...given } = body as unknown as SendBody;
  if (toolCallId === undefined) throw callRequired(undefined, 'decide');
  parts.access.scopeOf(identity, resourceId);
  const isSeen = await parts.access.mayRead(identity, { threadId, resourceId, agentId: agent.id });
  // Not even how many runs it has is told to others.
  if (!isSeen) throw nothingWaits(agent.id);
  const { runId, kind } = await findCallOfThread(agent[subAgent], { threadId, resourceId, toolCallId });
  const found = await findRun(parts, identity, runId, agent.id);
  await checkMayDecide(parts, identity, found, toolCallId);
  const reason = given.reason ?? given.declineContext?.reason ?? given.declineContext?.message;
  const decision = {
    ...wordsOf(body, identity),
    runId,
    toolCallId,
    ...(reason === undefined ? {} : { reason }),
  };
  if (!approved) await agent.declineToolCall(decision);
  else if (kind === 'suspended') await agent.resumeStream(resumeData, decision);
  else await agent.approveToolCall(decision);
  return { accepted: true, runId, toolCallId };
}
