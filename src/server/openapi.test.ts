import { expect, test } from 'vitest';
import { openDesk } from './test-support/desk.ts';

interface Operation {
  readonly summary?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { schema: { properties: object } }> };
  readonly responses: Readonly<Record<string, { readonly content: object }>>;
}

test('the document describes every route, and nothing else', async () => {
  const desk = openDesk();
  const { status, body } = await desk.get('ada', '/api/openapi.json');
  expect(status).toBe(200);
  const documented = Object.entries(body.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
  );
  const isRoute = (path: string): boolean => !path.endsWith('/*') && !path.endsWith('/openapi.json');
  const routes = desk.app.routes
    .filter(({ method, path }) => method !== 'ALL' && isRoute(path))
    .map(({ method, path }) => `${method.toLowerCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(documented.map(({ path, method }) => `${method} ${path}`).toSorted()).toEqual(
    [...new Set(routes)].toSorted(),
  );
  expect(documented.length).toBeGreaterThan(20);
  for (const { path, method, operation } of documented) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
    expect([path, inPath.map(({ name }) => name)]).toEqual([path, named]);
    expect(operation.summary).toMatch(/^[A-Z]/);
    expect(Object.keys(operation.responses)).toContain('default');
    expect(Object.keys(operation.responses).filter((status) => /^20[02]/.test(status))).toHaveLength(1);
    expect(operation.requestBody !== undefined).toBe(method === 'post');
  }
});

test('it says what bodies and queries may hold, and how one is known', async () => {
  const { body } = await openDesk({ server: { accept: { options: ['model'] } } }).get(
    'ada',
    '/api/openapi.json',
  );
  const schemaOf = (path: string) => body.paths[path].post.requestBody.content['application/json'].schema;
  expect(schemaOf('/api/agents/{agentId}/stream')).toMatchObject({
    properties: { messages: {}, memory: {}, maxSteps: {}, requireToolApproval: { const: true }, model: {} },
    required: ['messages'],
    additionalProperties: false,
  });
  expect(schemaOf('/api/approvals/{runId}/{toolCallId}/approve').required).toEqual(['stop']);
  const query = body.paths['/api/approvals'].get.parameters.map(({ name }: { name: string }) => name);
  expect(query).toContain('toolName');
  expect(body.components.securitySchemes).toEqual({ bearer: { type: 'http', scheme: 'bearer' } });
});
