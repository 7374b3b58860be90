/** How each error that the OpenAPI document names comes about, on whichever operation names it. */
import { Agent } from '../../agent/agent.ts';
import { Memory } from '../../agent/memory.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { InMemoryStore } from '../../store/memory.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import { storeAround } from '../../testing/store-around.ts';
import { bearerTokens } from '../bearer-tokens.ts';
import { type Desk, type Plan, people } from './desk.ts';
import type { Operation, Values, World } from './operations.ts';

interface Prepared {
  readonly world: World;
  readonly operation: Operation;
  /** The good request. */
  readonly values: Values;
  /** Sends the good request. */
  send(): Promise<unknown>;
}

export interface Provocation {
  /** What the person asks the model for, where it matters. */
  readonly message?: string | ((operation: Operation) => string | undefined);
  readonly isNobody?: true;
  /** Laid over the good request, after whatever must happen first. */
  change?(prepared: Prepared): Values | Promise<Values>;
  /** The server that is asked, in place of the one that was prepared. */
  at?(world: World, operation: Operation): Desk | Promise<Desk>;
}

const nowhere = 'nowhere';
const elsewhere =
  (plan: Plan) =>
  ({ another }: World): Desk =>
    another(plan);
const isStart = ({ path }: Operation): boolean => /\/(stream|generate)$/.test(path);
const isChat = ({ path }: Operation): boolean => path.endsWith('/chat');
const isMove = ({ path }: Operation): boolean => /\/runs\/\{runId\}\/(continue|cancel)$/.test(path);
const isResume = ({ path }: Operation): boolean => /\/resume(-stream)?$/.test(path);
const isFeed = ({ path }: Operation): boolean => path.endsWith('/events');
const isResolve = ({ path }: Operation): boolean => path.endsWith('/resolve');
/** The free call beside the held one. */
const neighbour = ({ toolCallId }: Values): string => String(toolCallId).replace(/0$/, '1');
const inBensThread = { thread: 'of-ben' };

export const provocations: Readonly<Partial<Record<ErrorCode, Provocation>>> = {
  unauthenticated: { isNobody: true },
  'too-many-requests': {
    async at(world) {
      const desk = world.another({ server: { limits: { requestsPerMinute: 1 } } });
      await desk.get('ada', '/api/agents');
      return desk;
    },
  },
  'server-closing': {
    async at(world) {
      const desk = world.another({});
      await desk.app.close();
      return desk;
    },
  },
  'store-failed': {
    at({ another }) {
      const inner = new InMemoryStore();
      const dead = () => Promise.reject(new Error('down'));
      return another({ registry: { storage: storeAround(inner, { workers: { ...inner.workers, dead } }) } });
    },
  },
  'too-large': { at: elsewhere({ server: { limits: { bodyBytes: 1 } } }) },
  'invalid-request': { change: () => ({ somethingElse: 1 }) },
  'invalid-option': {
    change: ({ operation }) => (isFeed(operation) ? { lastEventId: nowhere } : { perPage: 0 }),
  },
  'invalid-message': { change: () => ({ messages: [{ role: 'boss', content: 'Hi' }] }) },
  'agent-not-found': { change: () => ({ agentId: nowhere }) },
  'agent-missing': {
    at({ another }) {
      return another({
        registry: { agents: { lonely: new Agent({ id: 'lonely', model: scriptedModel([]) }) } },
      });
    },
  },
  'run-not-found': {
    change: ({ values }) => ('threadId' in values ? { threadId: nowhere } : { runId: nowhere }),
  },
  'call-not-found': { change: () => ({ toolCallId: nowhere }) },
  'thread-not-found': {
    async change({ world: { desk }, operation }) {
      if (!isStart(operation)) return { threadId: nowhere };
      await desk.post('ben', '/api/agents/chat/generate', { messages: 'Hi', memory: inBensThread });
      return { agentId: 'chat', memory: inBensThread };
    },
  },
  forbidden: {
    message: 'pay a',
    at({ desk, another }, operation) {
      if (!isMove(operation)) return desk;
      return another({ auth: { authenticate: bearerTokens(people), canRead: () => true } });
    },
    change: async ({ world: { desk }, operation }) => {
      if (isMove(operation)) return { runId: (await desk.hold('ben', 'delete a')).runId };
      if (isStart(operation)) return { memory: { thread: 't', resource: 'ben' } };
      return operation.method === 'get' ? { resourceId: 'ben' } : {};
    },
  },
  'ambiguous-run': {
    async change({ world: { desk } }) {
      const memory = { thread: 't-1' };
      await desk.post('ada', '/api/agents/chat/generate', { messages: 'delete b', memory });
      return { toolCallId: nowhere };
    },
  },
  'call-required': {
    message: (operation) => (isResume(operation) ? 'book a and book b' : undefined),
    change: () => ({ toolCallId: undefined }),
  },
  'already-decided': {
    message: (operation) => {
      if (isResolve(operation)) return undefined;
      return isResume(operation) ? 'book a and book b' : 'delete a and delete b';
    },
    async change({ send }) {
      await send();
      return {};
    },
  },
  'call-not-waiting': {
    message: 'delete a and look b',
    change: ({ operation, values }) =>
      isChat(operation)
        ? { messages: [{ id: 'a', role: 'assistant', parts: [] }] }
        : { toolCallId: neighbour(values) },
  },
  'run-ended': {
    message: 'delete a and look b',
    async change({ world: { desk }, operation, values, send }) {
      const { runId, toolCallId } = values;
      if (isMove(operation)) {
        await send();
        await desk.countersign.stop();
        return {};
      }
      await desk.post('ada', '/api/agents/desk/decline-tool-call-generate', { runId, toolCallId });
      return { toolCallId: neighbour(values) };
    },
  },
  'call-interrupted': { change: async ({ world }) => ({ ...(await world.interrupt()), stop: 2 }) },
  'stop-mismatch': { change: () => ({ stop: 9 }) },
  'fingerprint-mismatch': { change: () => ({ fingerprint: 'a'.repeat(64) }) },
  'needs-data': { message: 'book a' },
  'needs-verdict': { message: 'delete a' },
  'invalid-resume-data': {
    message: 'book a',
    change: ({ values }) => ({ ['data' in values ? 'data' : 'resumeData']: { seats: 'many' } }),
  },
  'memory-required': { change: () => ({ agentId: 'desk' }) },
  'run-not-stalled': {
    async change({ world: { desk }, operation, send }) {
      if (isChat(operation)) {
        await send();
        return { trigger: 'regenerate-message' };
      }
      return { runId: (await desk.hold('ada', 'delete a')).runId };
    },
  },
  'thread-required': { change: () => ({ agentId: 'chat' }) },
  'thread-waiting': {
    async at({ desk, another }) {
      const memory = new Memory({ options: { whenCallsWait: 'refuse' } });
      const chat = new Agent({ id: 'chat', model: desk.model, tools: desk.tools, memory });
      return another({ registry: { agents: { chat } } });
    },
    async change({ world: { desk } }) {
      const memory = { thread: 't-1' };
      await desk.post('ada', '/api/agents/chat/generate', { messages: 'delete a', memory });
      return { agentId: 'chat', memory };
    },
  },
  'model-failed': {
    at({ another }) {
      const model = scriptedModel(() => {
        throw new Error('away');
      });
      return another({ agent: { model, defaultOptions: { maxRetries: 0 } } });
    },
  },
};
