/** Owns what the body of a request that begins a run may say. Everything else is refused by name. */

import type { Agent } from '../agent/agent.ts';
import type { RunOptions } from '../agent/options.ts';
import { subAgent } from '../agent/types.ts';
import { RequestContext } from '../core/context.ts';
import { CountersignError, type ErrorCode } from '../core/errors.ts';
import {
  anything,
  checkFields,
  count,
  type Field,
  type Fields,
  flag,
  id,
  invalid,
  isObject,
  object,
  onlyTrue,
  required,
  text,
} from './field.ts';
import type { Identity } from './identity.ts';
import type { Accept, Accepted, ServerParts } from './parts.ts';

const thread: Field = {
  schema: {
    anyOf: [
      { type: 'string' },
      {
        type: 'object',
        properties: { id: { type: 'string' }, title: { type: 'string' }, metadata: { type: 'object' } },
        required: ['id'],
      },
    ],
  },
  // Its path is told where it is a text that is none; inside, each field is named by itself.
  problem(value) {
    if (!isObject(value)) return id.problem(value);
    checkFields(value, { id: required(id), title: text, metadata: object }, 'body', 'memory.thread.');
    return undefined;
  },
};

const memoryFields: Fields = { thread, resource: id };

const memory: Field = {
  schema: { type: 'object', properties: { thread: thread.schema, resource: id.schema } },
  problem(value) {
    if (!isObject(value)) return 'must be { thread, resource? }';
    checkFields(value, memoryFields, 'body', 'memory.');
    return undefined;
  },
};

/** Of `resume-stream`: whose run it must be. */
export const conversation: Field = memory;

/** The options that JSON can say. */
const acceptable: Readonly<Record<string, Field>> = {
  activeTools: { schema: { type: 'array', items: { type: 'string' } }, problem: () => undefined },
  autoResumeSuspendedTools: flag,
  durable: flag,
  instructions: text,
  maxRetries: anything,
  model: text,
  modelSettings: object,
  providerOptions: object,
  toolCallConcurrency: count,
  toolChoice: anything,
};

/** Those of a system are instructions, which bodies do not give unless a server takes them. */
const unruled: Field = {
  schema: {},
  problem(value) {
    const rules = [value].flat().some((message) => isObject(message) && message.role === 'system');
    return rules ? 'must hold no message of the system' : undefined;
  },
};

/** Keys of the request context that say who asks: set here, never by a request. */
const reservedKey = /^(mastra__|countersign__)/;

/** @throws `invalid-option`. */
export function acceptOf({ options = [], requestContext = [] }: Accept = {}): Accepted {
  const wrong = options.find((name) => !Object.hasOwn(acceptable, name));
  if (wrong !== undefined) {
    throw new CountersignError('invalid-option', `A body cannot say the option "${wrong}".`, {
      expected: `accept.options with some of: ${Object.keys(acceptable).join(', ')}`,
    });
  }
  const reserved = requestContext.find((key) => reservedKey.test(key));
  if (reserved !== undefined) {
    throw new CountersignError('invalid-option', `The request context key "${reserved}" is reserved.`, {
      expected: 'accept.requestContext with keys of your own',
    });
  }
  return { options, requestContext };
}

export function startFields({ options, requestContext }: Accepted): Fields {
  return {
    messages: required(options.includes('instructions') ? anything : unruled),
    memory,
    maxSteps: count,
    requireToolApproval: onlyTrue,
    ...Object.fromEntries(options.map((name) => [name, acceptable[name] as Field])),
    ...(requestContext.length > 0 ? { requestContext: object } : {}),
  };
}

/** What a run may be refused with before it begins. */
export const startErrors: readonly ErrorCode[] = [
  ...(['forbidden', 'invalid-message', 'thread-not-found', 'thread-required', 'thread-waiting'] as const),
];

/**
 * The options of a run that a body asks for.
 * @param body checked against `startFields`.
 * @throws `forbidden` for the resource of somebody else, `invalid-request`.
 */
export function startOptions(
  { access, accept, limits }: ServerParts,
  agent: Agent,
  identity: Identity | undefined,
  body: Readonly<Record<string, unknown>>,
): RunOptions {
  const { thread, resource } = (body.memory ?? {}) as { thread?: string | { id: string }; resource?: string };
  const resourceId = access.resourceFor(identity, resource);
  const { maxSteps, requireToolApproval } = body as { maxSteps?: number; requireToolApproval?: true };
  const named = accept.options.filter((name) => Object.hasOwn(body, name)).map((name) => [name, body[name]]);
  const threadId = typeof thread === 'object' ? thread.id : thread;
  return {
    ...(Object.fromEntries(named) as RunOptions),
    ...(maxSteps === undefined ? {} : { maxSteps: Math.min(maxSteps, limits.maxSteps) }),
    ...(requireToolApproval ? { requireToolApproval } : {}),
    ...(thread === undefined && resourceId === undefined ? {} : { memory: { thread, resource: resourceId } }),
    requestContext: contextOf(agent, accept, body.requestContext, {
      mastra__resourceId: resourceId,
      mastra__threadId: threadId,
    }),
  };
}

/** What the agent's own context says, then what the body may say, then who asks. */
function contextOf(
  agent: Agent,
  accept: Accepted,
  given: unknown,
  reserved: Readonly<Record<string, string | undefined>>,
): RequestContext {
  const entries = Object.entries((given ?? {}) as Record<string, unknown>);
  const refused = entries.filter(([key]) => !accept.requestContext.includes(key));
  if (refused.length > 0) {
    throw invalid(
      'body',
      refused.map(([key]) => `requestContext.${key}: is not taken from a body`),
    );
  }
  const context = new RequestContext();
  const own = agent[subAgent].defaultOptions.requestContext;
  for (const [key, value] of own?.entries() ?? []) context.set(key, value, { secret: own?.isSecret(key) });
  for (const [key, value] of entries) context.set(key, value);
  for (const [key, value] of Object.entries(reserved)) if (value !== undefined) context.set(key, value);
  return context;
}
