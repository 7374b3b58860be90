/** Every way in which a decision comes over HTTP: the routes of the specification, streamed and not, and approvals. */
import {
  type Answer,
  type Chunk,
  type Desk,
  eventsIn,
  type Who,
} from '../../src/server/test-support/desk.ts';

export interface Call {
  readonly runId: string;
  readonly toolCallId: string;
  /** Left out: 'desk'. */
  readonly agentId?: string;
}

export type Verb = 'approve' | 'decline' | 'resume';

export interface Route {
  readonly name: string;
  /** Decides, and waits until the run has come to rest. What `more` says is laid over a well-formed body. */
  decide(desk: Desk, who: Who | undefined, call: Call, verb: Verb, more?: object): Promise<Answer>;
}

const bodyOf = (call: object, more: object): object =>
  Object.fromEntries(Object.entries({ ...call, ...more }).filter(([, value]) => value !== undefined));

/** Posts, and reads the events, if that is what comes: then `body` has the chunks. */
async function streamed(desk: Desk, who: Who | undefined, path: string, body: object): Promise<Answer> {
  const response = await desk.app.request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(who ? { authorization: `Bearer ${who}` } : {}) },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, body: status === 200 ? { chunks: eventsIn(text) } : JSON.parse(text) };
}

const ofAgents = (twin: '' | '-generate', name: string): Route => ({
  name,
  async decide(desk, who, { agentId = 'desk', runId, toolCallId }, verb, more = {}) {
    const { data, ...others } = more as { data?: unknown };
    const at = `/api/agents/${agentId}`;
    // A resume has no twin.
    if (verb === 'resume') {
      const body = bodyOf({ runId, toolCallId, resumeData: data }, others);
      return streamed(desk, who, `${at}/resume-stream`, body);
    }
    const body = bodyOf({ runId, toolCallId }, more);
    const path = `${at}/${verb}-tool-call${twin}`;
    return twin ? desk.post(who, path, body) : streamed(desk, who, path, body);
  },
});

export const ofStreams = ofAgents('', 'the routes of the specification');
export const ofGenerates = ofAgents('-generate', 'the routes of the specification, without streams');

export const ofApprovals: Route = {
  name: 'the approvals routes',
  async decide(desk, who, { runId, toolCallId }, verb, more = {}) {
    const path = `/api/approvals/${encodeURIComponent(runId)}/${encodeURIComponent(toolCallId)}/${verb}`;
    const answer = await desk.post(who, path, bodyOf({ stop: 1 }, more));
    // These answer before the run goes on.
    await desk.countersign.stop();
    return answer;
  },
};

export const routes: readonly Route[] = [ofStreams, ofGenerates, ofApprovals];

export const idsOf = ({ runId, toolCallId }: Call): Call => ({ runId, toolCallId });

/** The payloads of the calls that these chunks announce, with the run's id. */
export function stopsIn(chunks: readonly Chunk[]): (Chunk['payload'] & { readonly runId: string })[] {
  return chunks
    .filter(({ type }) => /^tool-call-(approval|suspended)$/.test(type))
    .map(({ runId, payload }) => ({ ...payload, runId }));
}

/** What waits now, in the order of the list. */
export async function waiting(desk: Desk, who: Who = 'rita'): Promise<Chunk['payload'][]> {
  return (await desk.get(who, '/api/approvals')).body.approvals;
}
