/** How each route is described in the OpenAPI document. */
import { describeRoute } from 'hono-openapi';
import { type Fields, schemaOf } from './field.ts';
import type { schemas } from './schemas.ts';

export interface Description {
  readonly summary: string;
  readonly tag: 'agents' | 'approvals' | 'memory' | 'runs' | 'server';
  /** Names of path parameters. */
  readonly path?: readonly string[];
  readonly query?: Fields;
  readonly body?: Fields;
  readonly answer: keyof typeof schemas | 'events';
  /** 202: what was asked for goes on. Default 200. */
  readonly status?: 202;
  readonly isOpen?: true;
}

const json = (schema: object) => ({ content: { 'application/json': { schema } } }) as const;

const events = {
  description: 'Server-sent events: `data: <chunk as JSON>` each, then `data: [DONE]`.',
  content: { 'text/event-stream': { schema: { type: 'string' } } },
} as const;

const refTo = (name: keyof typeof schemas) => ({ $ref: `#/components/schemas/${name}` });

export function described({
  summary,
  tag,
  path = [],
  query = {},
  body,
  answer,
  status,
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
      [status ?? 200]:
        answer === 'events'
          ? events
          : {
              description: status === 202 ? 'It is recorded, and the run goes on.' : 'The answer.',
              ...json(refTo(answer)),
            },
      default: { description: 'What went wrong.', ...json(refTo('Problem')) },
    },
  });
}
