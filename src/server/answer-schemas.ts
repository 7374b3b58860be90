/** What the routes answer, as JSON Schema: the components of the OpenAPI document. */

type Schema = Readonly<Record<string, unknown>>;

const string = { type: 'string' };
const integer = { type: 'integer' };
const boolean = { type: 'boolean' };
const moment = { type: 'string', format: 'date-time' };
const anything = { description: 'Any JSON.' };

function array(items: Schema): Schema {
  return { type: 'array', items };
}

export function answerRef(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** @param optional properties that are not always there. */
function object(properties: Readonly<Record<string, Schema>>, optional: Schema = {}): Schema {
  return { type: 'object', properties: { ...properties, ...optional }, required: Object.keys(properties) };
}

const approver = { enum: ['owner', 'reviewer'] };
const page = { totalIsAtLeast: { const: true }, cursor: string };
const owner = { threadId: string, resourceId: string };

const called = { toolCallId: string, toolName: string, args: anything };
const waiting = {
  ...{ ...called, stop: integer, state: { enum: ['held', 'suspended', 'interrupted'] } },
  ...{ requiresApproval: boolean, fingerprint: string },
};
const sometimesWaiting = {
  ...{ path: answerRef('Path'), approver, suspendPayload: anything, startedAt: moment, resumeSchema: string },
};
const threadMessages = array(
  object({ id: string, role: string, parts: array({ type: 'object' }) }, { metadata: anything }),
);
const numbered = { page: integer, perPage: integer, hasMore: boolean };

export const answerSchemas = {
  Error: object(
    {
      error: { ...string, description: 'What happened, what was expected, and what to do.' },
      code: { ...string, description: 'One of the codes of CountersignError, or `internal`.' },
      status: integer,
    },
    {
      ...{ agentId: string, runId: string, toolCallId: string, toolCallIds: array(string), threadId: string },
      ...{ toolName: string, stop: integer, expected: string, todo: string, missing: array(string) },
      issues: array(object({ field: string, message: string })),
      decision: { ...answerRef('Decision'), description: '`already-decided`: the decision that won.' },
      ...{ stalled: boolean, outcome: anything, retryAfter: integer, text: string },
    },
  ),
  Status: object({ status: string }),
  Path: array(object({ agentId: string, toolCallId: string })),
  Person: object({ id: string }, { name: string, messageId: string }),
  Agent: object(
    {
      id: string,
      name: string,
      tools: {
        type: 'object',
        additionalProperties: object(
          { id: string, held: { enum: ['always', 'depends', 'never'] } },
          { description: string, approver },
        ),
      },
    },
    { description: string },
  ),
  Agents: { type: 'object', additionalProperties: answerRef('Agent') },
  Chunk: object(
    { type: string, runId: string, from: { const: 'AGENT' } },
    { payload: { type: 'object' }, data: anything, id: string },
  ),
  Output: object(
    {
      ...{ runId: string, messageId: string, text: string, totalText: string, finishReason: string },
      ...{
        toolCalls: array(answerRef('Chunk')),
        toolResults: array(answerRef('Chunk')),
        steps: array({ type: 'object' }),
      },
      ...{
        usage: { type: 'object' },
        messages: array({ type: 'object' }),
        suspendPayloads: array({ type: 'object' }),
      },
    },
    {
      suspendPayload: { type: 'object' },
      object: anything,
      error: answerRef('Error'),
      decided: { const: true },
    },
  ),
  WaitingCall: object(waiting, sometimesWaiting),
  SuspendedRuns: object(
    {
      runs: array(
        object(
          {
            ...{ runId: string, status: { enum: ['suspended', 'interrupted', 'stalled', 'running'] } },
            ...{ suspendedAt: moment, toolCalls: array(answerRef('WaitingCall')) },
          },
          owner,
        ),
      ),
      total: integer,
    },
    page,
  ),
  Sent: object({ accepted: { const: true }, runId: string, toolCallId: string }),
  Approval: object(
    { ...waiting, runId: string, agentId: string, approver, since: moment },
    { ...sometimesWaiting, ...owner },
  ),
  Approvals: object({ approvals: array(answerRef('Approval')) }, { total: integer, ...page }),
  Call: object(
    {
      ...{ runId: string, agentId: string, toolCallId: string, toolName: string, fingerprint: string },
      ...{ decisions: array(answerRef('Decision')), mayDecide: boolean },
    },
    {
      ...{ args: anything, state: string, stop: integer, since: moment, requiresApproval: boolean },
      ...sometimesWaiting,
      ...owner,
    },
  ),
  Decision: object(
    {
      ...{ runId: string, toolCallId: string, stop: integer, agentId: string, toolName: string },
      ...{ verdict: string, at: integer, fingerprint: string },
    },
    {
      ...{ path: answerRef('Path'), by: answerRef('Person'), reason: string, decisionId: string },
      ...{ addressed: { const: 'latest' }, answering: object({ runId: string, toolCallId: string }) },
      outcome: object({ state: string, at: integer }),
    },
  ),
  Recorded: object(
    { accepted: { const: true }, runId: string, toolCallId: string, driven: boolean },
    { decision: answerRef('Decision') },
  ),
  Thread: object(
    { id: string, resourceId: string, createdAt: moment, updatedAt: moment },
    { title: string, metadata: { type: 'object' } },
  ),
  Threads: object({ threads: array(answerRef('Thread')), total: integer, ...numbered }, page),
  Messages: object({ messages: threadMessages, ...numbered }),
} as const satisfies Readonly<Record<string, Schema>>;

export type AnswerName = Exclude<keyof typeof answerSchemas, 'Error'>;
