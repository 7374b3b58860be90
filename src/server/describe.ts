/** How each route is described in the OpenAPI document. */
import { describeRoute } from 'hono-openapi';
import { type Fields, schemaOf } from './field.ts';

export interface Description {
  readonly summary: string;
  readonly tag: 'agents' | 'approvals' | 'memory' | 'runs' | 'server';
  /** Names of path parameters. */
  readonly path?: readonly string[];
  readonly query?: Fields;
  readonly body?: Fields;
  readonly answer?: keyof typeof answers;
  readonly isOpen?: true;
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } });

const errorSchema = {
  type: 'object',
  required: ['error', 'code', 'status'],
  properties: {
    error: { type: 'string', description: 'What happened, what was expected, and what to do.' },
    code: { type: 'string', description: 'One of the codes of CountersignError, or `internal`.' },
    status: { type: 'integer' },
    issues: {
      type: 'array',
      items: { type: 'object', properties: { field: { type: 'string' }, message: { type: 'string' } } },
    },
    decision: { type: 'object', description: '`already-decided`: the decision that won.' },
  },
};

const events = {
  description: 'Server-sent events: `data: <chunk as JSON>` each, then `data: [DONE]`.',
  content: { 'text/event-stream': { schema: { type: 'string' } } },
} as const;

const answers = {
  json: { 200: { description: 'The answer.', ...json({ type: 'object' }) } },
  accepted: {
    202: { description: 'The decision is recorded; the run goes on.', ...json({ type: 'object' }) },
  },
  events: { 200: events },
  'events or nothing': { 200: events, 204: { description: 'There is nothing to follow.' } },
} as const;

export function described({
  summary,
  tag,
  path = [],
  query = {},
  body,
  answer = 'json',
  isOpen,
}: Description) {
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
      ...answers[answer],
      default: { description: 'What went wrong.', ...json(errorSchema) },
    },
  });
}
