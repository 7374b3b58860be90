/** Every route of a server, and how it is asked about a call that waits. Attacks go over this table. */
import type { Answer, Victim, Waiting } from './victim.ts';
import { people, type Who } from './world.ts';

export interface Route {
  /** As the OpenAPI document has it. */
  readonly name: string;
  /**
   * `open` to everybody; `list`: of what one may see; `read`, `decide` and `move`: about one run or thread, of which the
   * last decides no call; `start`: begins a run; `page`: of a chat page; `feed`: without end; `fixed`: the same for all.
   */
  readonly kind: 'open' | 'fixed' | 'list' | 'read' | 'decide' | 'move' | 'start' | 'page' | 'feed';
  /** What a foreign thing is to who asks. */
  readonly unknown?: 'run-not-found' | 'thread-not-found';
  readonly body?: (call: Waiting, resourceId: string) => Record<string, unknown>;
}

const named = ({ runId, toolCallId }: Waiting) => ({ runId, toolCallId });
const ofRun = { unknown: 'run-not-found' } as const;
const ofThread = { kind: 'read', unknown: 'thread-not-found' } as const;
const decides = { kind: 'decide', ...ofRun } as const;
const withStop = { ...decides, body: ({ stop }: Waiting) => ({ stop }) };
const moves = { kind: 'move', ...ofRun, body: () => ({}) } as const;
const start = { kind: 'start', body: () => ({ messages: 'Hi' }) } as const;
/** What a chat page posts when its person has approved a call. */
export function approvalOnPage({ runId, toolCallId, stop, threadId }: Waiting): Record<string, unknown> {
  const approval = { id: `${runId}::${toolCallId}::${stop}`, approved: true };
  const part = { type: 'tool-delete', toolCallId, state: 'approval-responded', input: {}, approval };
  const messages = [
    { id: 'u', role: 'user', parts: [{ type: 'text', text: 'delete a' }] },
    { id: 'a', role: 'assistant', parts: [part] },
  ];
  return { id: threadId, messages, trigger: 'submit-message' };
}

const approval = '/api/approvals/{runId}/{toolCallId}';

export const routes: readonly Route[] = [
  { name: 'GET /healthz', kind: 'open' },
  { name: 'GET /readyz', kind: 'open' },
  { name: 'GET /api/agents', kind: 'fixed' },
  { name: 'GET /api/agents/{agentId}', kind: 'fixed' },
  { name: 'POST /api/agents/{agentId}/stream', ...start },
  { name: 'POST /api/agents/{agentId}/generate', ...start },
  { name: 'POST /api/agents/{agentId}/approve-tool-call', ...decides, body: named },
  { name: 'POST /api/agents/{agentId}/approve-tool-call-generate', ...decides, body: named },
  { name: 'POST /api/agents/{agentId}/decline-tool-call', ...decides, body: named },
  { name: 'POST /api/agents/{agentId}/decline-tool-call-generate', ...decides, body: named },
  {
    name: 'POST /api/agents/{agentId}/resume-stream',
    ...decides,
    body: (call) => ({ ...named(call), resumeData: { approved: true } }),
  },
  {
    name: 'POST /api/agents/{agentId}/send-tool-approval',
    ...decides,
    body: ({ threadId, toolCallId }, resourceId) => ({ threadId, resourceId, toolCallId, approved: true }),
  },
  { name: 'POST /api/agents/{agentId}/chat', kind: 'page', body: approvalOnPage },
  { name: 'GET /api/agents/{agentId}/chat/{threadId}/stream', kind: 'page' },
  { name: 'GET /api/agents/{agentId}/suspended-runs', kind: 'list' },
  { name: 'GET /api/approvals', kind: 'list' },
  { name: 'GET /api/approvals/events', kind: 'feed' },
  { name: 'GET /api/decisions', kind: 'list' },
  { name: `GET ${approval}`, kind: 'read', ...ofRun },
  { name: `POST ${approval}/approve`, ...withStop },
  { name: `POST ${approval}/decline`, ...withStop },
  {
    name: `POST ${approval}/resume`,
    ...decides,
    body: ({ stop }) => ({ stop, data: { approved: true } }),
  },
  { name: `POST ${approval}/resolve`, ...decides, body: ({ stop }) => ({ stop, runAgain: true }) },
  { name: 'GET /api/runs/{runId}/events', kind: 'read', ...ofRun },
  { name: 'POST /api/runs/{runId}/cancel', ...moves },
  { name: 'POST /api/runs/{runId}/continue', ...moves },
  { name: 'GET /api/memory/threads', kind: 'list' },
  { name: 'GET /api/memory/threads/{threadId}', ...ofThread },
  { name: 'GET /api/memory/threads/{threadId}/messages', ...ofThread },
];

export const routesThat = (...kinds: readonly Route['kind'][]): readonly Route[] =>
  routes.filter(({ kind }) => kinds.includes(kind));

/** Those that read a body. */
export const posts = routes.filter(({ body }) => body !== undefined);

export function methodOf({ name }: Route): string {
  return name.split(' ')[0] ?? '';
}

export function pathOf({ name }: Route, call: Waiting): string {
  const given: Readonly<Record<string, string | number>> = { ...call };
  return (name.split(' ')[1] ?? '').replaceAll(/\{(\w+)\}/g, (_, key) =>
    encodeURIComponent(given[key] ?? ''),
  );
}

/** What a well-formed request of this person says about the call, with `more` laid over it. */
export function bodyFor(route: Route, who: Who, call: Waiting, more: object = {}): object | undefined {
  const { resourceId = 'ada' } = people[who] as { resourceId?: string };
  return route.body && { ...route.body(call, resourceId), ...more };
}

export function askRoute(
  victim: Victim,
  route: Route,
  who: Who,
  call: Waiting,
  more: object = {},
): Promise<Answer> {
  return victim.ask(who, methodOf(route), pathOf(route, call), bodyFor(route, who, call, more));
}

/** What became of a request, in short. */
export const said = ({ status, body }: Answer): string => `${status} ${body?.code ?? ''}`.trim();
