/** What the routes answer, as JSON Schema: the contract of the OpenAPI document. No other fields are answered. */
import type { Agent } from '../agent/agent.ts';
import type { ListedCall, SuspendedRun, SuspendedRuns } from '../agent/list.ts';
import type { ThreadList } from '../agent/memory.ts';
import type { Thread } from '../agent/own-thread.ts';
import type { SentToolApproval } from '../agent/thread-approval.ts';
import { type CountersignError, type ErrorDetails, errorCodes } from '../core/errors.ts';
import type { CallPayload, StepResult } from '../stream/chunk.ts';
import type { AgentOutput } from '../stream/output.ts';
import type { WaitingCall } from '../stream/result.ts';
import type { AgentCard, CardTool } from './agent-card.ts';
import type { Recorded } from './answer-approval.ts';
import type { Approval, ApprovalDetails, Approvals } from './approvals.ts';
import { decisionSchemas } from './decision-schemas.ts';
import {
  always,
  answer,
  any,
  flag,
  listOf,
  mapOf,
  moment,
  object,
  objects,
  oneOf,
  page,
  ref,
  type Schema,
  text,
  told,
  whole,
} from './json-schema.ts';
import type { Issue } from './problem.ts';

const callFields = {
  toolCallId: text,
  toolName: text,
  args: told('What the person sees, and what the tool is given.', any),
  path: told('The delegations that lead to it.', listOf(ref('PathStep'))),
};
const waitingFields = {
  ...callFields,
  stop: told('The how-manieth time it waits.', whole),
  state: oneOf('held', 'suspended', 'interrupted'),
  requiresApproval: told('True: approve or decline. False: resume, decline or resolve.', flag),
  fingerprint: told('SHA-256 over the canonical JSON of what is approved.', text),
  resumeSchema: told('JSON Schema, as a JSON string, of what decides or resumes.', text),
  suspendPayload: told('What the tool asks.', any),
};
const whose = { agentId: text, threadId: text, resourceId: text };
const approver = told('Who may decide it.', oneOf('owner', 'reviewer'));
const listedFields = {
  ...waitingFields,
  approver,
  startedAt: told('Interrupted: when the attempt began of which nobody knows what came.', moment),
};

type RunCall = StepResult['toolResults'][number];

/** The shapes that answers are made of, and answers, by the names that they have in the document. */
export const schemas = {
  Problem: answer<
    { error: string } & Pick<CountersignError, 'code' | 'status'> &
      Omit<ErrorDetails, 'cause' | 'issues'> & { issues?: Issue[] }
  >(
    {
      error: told('What happened, what was expected, and what to do.', text),
      code: oneOf(...errorCodes, 'internal'),
      status: whole,
      agentId: text,
      runId: text,
      toolCallId: text,
      toolCallIds: listOf(text),
      threadId: text,
      toolName: text,
      stop: whole,
      expected: text,
      todo: told('What can be done now.', text),
      missing: told('`option-missing`: what must be passed again.', listOf(text)),
      decision: told('`already-decided`: the decision that won.', ref('Decision')),
      stalled: flag,
      outcome: told('`run-ended`: how the run ended.', any),
      issues: listOf(answer<Issue>({ field: text, message: text })),
      retryAfter: told('Seconds.', { type: 'number' }),
      text: told('`invalid-object`: what the model answered.', text),
    },
    ...([
      ...['agentId', 'runId', 'toolCallId', 'toolCallIds', 'threadId', 'toolName', 'stop', 'expected'],
      ...['todo', 'missing', 'decision', 'stalled', 'outcome', 'issues', 'retryAfter', 'text'],
    ] as (keyof Omit<ErrorDetails, 'cause'>)[]),
  ),
  ...decisionSchemas,
  Call: answer<CallPayload>(callFields, 'path'),
  WaitingCall: answer<WaitingCall>(waitingFields, 'path', 'resumeSchema', 'suspendPayload'),
  Step: answer<StepResult>(
    {
      text,
      reasoningText: text,
      toolCalls: listOf(ref('Call')),
      toolResults: listOf(answer<RunCall>({ ...callFields, result: any }, 'path')),
      finishReason: text,
      usage: object,
      response: object,
      providerMetadata: object,
    },
    'providerMetadata',
  ),
  Chunk: answer<{
    type: string;
    runId: string;
    from: 'AGENT';
    payload?: object;
    data?: unknown;
    id?: string;
  }>(
    { type: text, runId: text, from: { const: 'AGENT' }, payload: object, data: any, id: text },
    'payload',
    'data',
    'id',
  ),
  Output: told(
    'A leg of a run, when the run waits or has ended. `finishReason: "suspended"` means that a person must act.',
    answer<Record<keyof AgentOutput | 'decided', unknown>>(
      {
        runId: text,
        messageId: text,
        text,
        totalText: text,
        object: told('The answer as an object, where one was asked for.', any),
        finishReason: text,
        toolCalls: listOf(ref('Chunk')),
        toolResults: listOf(ref('Chunk')),
        steps: listOf(ref('Step')),
        usage: object,
        messages: objects,
        suspendPayload: told('The first of `suspendPayloads`.', ref('WaitingCall')),
        suspendPayloads: listOf(ref('WaitingCall')),
        error: ref('Problem'),
        decided: always,
      },
      'object',
      'suspendPayload',
      'error',
      'decided',
    ),
  ),
  ListedCall: answer<ListedCall>(
    listedFields,
    ...(['path', 'approver', 'suspendPayload', 'startedAt', 'resumeSchema'] as const),
  ),
  SuspendedRuns: answer<SuspendedRuns>(
    {
      runs: listOf(
        answer<SuspendedRun>(
          {
            runId: text,
            status: oneOf('suspended', 'interrupted', 'stalled', 'running'),
            threadId: text,
            resourceId: text,
            suspendedAt: moment,
            toolCalls: listOf(ref('ListedCall')),
          },
          'threadId',
          'resourceId',
        ),
      ),
      ...page,
    },
    'totalIsAtLeast',
    'cursor',
  ),
  Approvals: answer<Approvals>(
    {
      approvals: listOf(
        answer<Approval>(
          { runId: text, ...whose, ...listedFields, approver, since: moment },
          ...(['threadId', 'resourceId', 'path', 'suspendPayload', 'startedAt', 'resumeSchema'] as const),
        ),
      ),
      ...page,
    },
    ...(['total', 'totalIsAtLeast', 'cursor'] as const),
  ),
  Approval: answer<ApprovalDetails>(
    {
      runId: text,
      ...whose,
      ...listedFields,
      approver,
      since: moment,
      state: told('Of the call: one that waits, or what became of it.', text),
      decisions: listOf(ref('Decision')),
      mayDecide: told('Whether who asks may decide it now.', flag),
    },
    ...(['threadId', 'resourceId', 'path', 'suspendPayload', 'startedAt', 'resumeSchema', 'args'] as const),
    ...(['approver', 'since', 'state', 'stop', 'requiresApproval'] as const),
  ),
  Recorded: answer<Recorded>(
    {
      accepted: always,
      runId: text,
      toolCallId: text,
      driven: told('False: a process that has the code of the agent goes on with the run.', flag),
      decision: ref('Decision'),
    },
    'decision',
  ),
  Accepted: answer<{ accepted: true; runId: string }>({ accepted: always, runId: text }),
  Cancelled: answer<Awaited<ReturnType<Agent['cancelRun']>>>({
    runId: text,
    status: told('`cancelling`: a tool still runs, and is awaited.', oneOf('cancelled', 'cancelling')),
  }),
  Sent: answer<SentToolApproval>({ accepted: always, runId: text, toolCallId: text }),
  Thread: answer<Thread>(
    { id: text, resourceId: text, title: text, metadata: object, createdAt: moment, updatedAt: moment },
    'title',
    'metadata',
  ),
  Threads: answer<ThreadList & { page: number; perPage: number; hasMore: boolean }>(
    { threads: listOf(ref('Thread')), ...page, page: whole, perPage: whole, hasMore: flag },
    'totalIsAtLeast',
    'cursor',
  ),
  Messages: answer<{ messages: unknown[]; page: number; perPage: number; hasMore: boolean }>({
    messages: told("The AI SDK's `UIMessage`s.", objects),
    page: whole,
    perPage: whole,
    hasMore: flag,
  }),
  Agent: answer<AgentCard>(
    { id: text, name: text, description: text, tools: mapOf(ref('Tool')) },
    'description',
  ),
  Tool: answer<CardTool>(
    {
      id: text,
      description: text,
      held: told('`depends`: on the arguments of the call.', oneOf('always', 'depends', 'never')),
      approver,
    },
    'description',
    'approver',
  ),
  Agents: told('By the names that the registry gives them.', mapOf(ref('Agent'))),
  Status: answer<{ status: string }>({ status: text }),
} as const satisfies Record<string, Schema>;
