/** Reads JSON bodies and queries. */
import type { Context } from 'hono';
import type { CountersignError } from '../core/errors.ts';
import { checkFields, type Fields, invalid, isObject } from './field.ts';

/**
 * The object that a request's body is, with no other fields than these.
 * @throws `invalid-request`. A body that is not declared as JSON is refused, too: browsers send such across origins
 * without asking.
 */
export async function bodyOf(c: Context, fields: Fields): Promise<Record<string, unknown>> {
  const type = c.req.header('content-type') ?? '';
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) {
    throw invalid('body', ['content-type: must be application/json']);
  }
  const body = parsed(await textOf(c));
  if (!isObject(body)) throw invalid('body', ['body: must be a JSON object']);
  checkFields(body, fields, 'body');
  return body;
}

async function textOf(c: Context): Promise<string> {
  const bytes = await c.req.arrayBuffer().catch(() => {
    throw cutOff();
  });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid('body', ['body: is no UTF-8']);
  }
}

/** Whoever sends a body may go away in the middle of it. */
export function cutOff(): CountersignError {
  return invalid('body', ['body: was not sent to its end']);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('body', ['body: is no JSON']);
  }
}

/** The parameters of a query, each given at most once. `requestContext` is dropped: a reader has none. */
export function queryOf(c: Context, fields: Fields): Readonly<Record<string, string>> {
  const all = new URL(c.req.url).searchParams;
  const query: Record<string, string> = {};
  for (const name of new Set(all.keys())) {
    if (name === 'requestContext') continue;
    const [value = '', ...more] = all.getAll(name);
    if (more.length > 0) throw invalid('query', [`${name}: is given more than once`]);
    Object.defineProperty(query, name, { value, enumerable: true });
  }
  checkFields(query, fields, 'query');
  return query;
}
