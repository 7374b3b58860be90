/** How each route is described in the OpenAPI document. */
import { describeRoute } from 'hono-openapi';
import { CountersignError, type ErrorCode } from '../core/errors.ts';
import { type Fields, schemaOf } from './field.ts';
import type { schemas } from './schemas.ts';

export interface Description {
  readonly summary: string;
  readonly tag: 'agents' | 'approvals' | 'memory' | 'runs' | 'server';
  /** Names of path parameters. */
  readonly path?: readonly string[];
  readonly query?: Fields;
  readonly body?: Fields;
  readonly answer: keyof typeof schemas | keyof typeof events;
  /** 202: what was asked for goes on. Default 200. */
  readonly status?: 202;
  /** What it may refuse beside what all routes with such a path, query or body do. */
  readonly errors?: readonly ErrorCode[];
  /** 204: there is nothing to follow. */
  readonly mayBeNothing?: true;
  readonly isOpen?: true;
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const refTo = (name: keyof typeof schemas) => ({ $ref: `#/components/schemas/${name}` });

const events = {
  events: '`data: <Chunk as JSON>` each, then `data: [DONE]`',
  'ui-events': "`data: <chunk of the AI SDK's UI message stream as JSON>` each, then `data: [DONE]`",
  feed: 'with ids and without end, `ready` or `reset`, then `opened`, `decided`, `settled`',
};

/** What any route may answer to a request that is not taken. */
const always: readonly ErrorCode[] = ['unauthenticated', 'too-many-requests', 'server-closing'];

/** The answers to requests that are refused, by status. */
function refusals({ path = [], query, body, isOpen, errors = [] }: Description) {
  const codes = new Set([
    ...(isOpen ? [] : always),
    ...(query || body ? (['invalid-request'] as const) : []),
    ...(body ? (['too-large'] as const) : []),
    ...(path.includes('agentId') ? (['agent-not-found'] as const) : []),
    ...errors,
  ]);
  const byStatus = Map.groupBy([...codes].toSorted(), (code) => new CountersignError(code, '').status);
  const answers = [...byStatus].map(([status, of]) => {
    const description = of.map((code) => `\`${code}\``).join(', ');
    const problem = { ...refTo('Problem'), type: 'object', properties: { code: { enum: of } } };
    return [status, { description, ...json(problem) }];
  });
  return Object.fromEntries(answers);
}

function isEvents(answer: Description['answer']): answer is keyof typeof events {
  return Object.hasOwn(events, answer);
}

function success({ answer, status, mayBeNothing }: Description) {
  if (!isEvents(answer)) {
    const description = status ? 'It is recorded, and the run goes on.' : 'The answer.';
    return { [status ?? 200]: { description, ...json(refTo(answer)) } };
  }
  const description = `Server-sent events: ${events[answer]}.`;
  const told = { 200: { description, content: { 'text/event-stream': { schema: { type: 'string' } } } } };
  return mayBeNothing ? { ...told, 204: { description: 'There is nothing to follow.' } } : told;
}

export function described(description: Description) {
  const { summary, tag, path = [], query = {}, body, isOpen } = description;
  const parameters = [
    ...path.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query).map(([name, { schema, required = false }]) => {
      return { name, in: 'query', required, schema };
    }),
  ];
  return describeRoute({
    summary,
    tags: [tag],
    parameters: parameters as never,
    ...(body ? { requestBody: { required: true, ...json(schemaOf(body)) } as never } : {}),
    ...(isOpen ? { security: [] } : {}),
    responses: {
      ...success(description),
      ...refusals(description),
      default: { description: 'What else went wrong.', ...json(refTo('Problem')) },
    } as never,
  });
}
