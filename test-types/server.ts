import type { Countersign } from 'countersign';
import { bearerTokens, createServer, type Identity, jwt, type ServerConfig, serve } from 'countersign/server';
import { Hono } from 'hono';

declare const countersign: Countersign;

// Options that a caller leaves undefined were left out.
const config: ServerConfig = {
  countersign,
  auth: undefined,
  cors: undefined,
  limits: { streams: undefined },
  accept: { options: undefined, requestContext: ['language'] },
  basePath: undefined,
  logger: undefined,
};
const app = createServer(config);
new Hono().route('/', app);
export const response: Response | Promise<Response> = app.fetch(new Request('http://localhost/'));
await app.close();

const identity: Identity = { id: 'ada', name: undefined, roles: ['reviewer'], resourceId: undefined };
createServer({
  countersign,
  auth: {
    authenticate: bearerTokens({ token: identity }),
    canRead: ({ roles = [] }, { agentId }) => agentId === 'desk' && roles.includes('reader'),
    canDecide: async (_, { approver, toolName }) => approver === 'owner' && toolName !== 'pay',
  },
});
jwt({
  jwksUrl: 'https://id.example/jwks',
  issuer: 'i',
  audience: 'a',
  identityOf: ({ sub }) => (sub ? { id: sub } : null),
});
await (await serve(app, { port: undefined, hostname: undefined })).close({ within: undefined });
await serve(config);

// @ts-expect-error a registry is all that it needs, and it needs that
createServer({});
// @ts-expect-error an issuer and an audience are demanded
jwt({ jwksUrl: 'https://id.example/jwks', identityOf: () => null });
// @ts-expect-error an identity has an id
bearerTokens({ token: { name: 'Ada' } });

await serve(app, { port: 0, closeOn: ['SIGTERM', 'SIGINT'], within: undefined });
// @ts-expect-error: nobody hears of it
await serve(app, { closeOn: ['SIGKILL'] });
