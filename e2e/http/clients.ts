/**
 * The middle of the load: a client that decides every call that it is given, in one of the ways that the server has.
 * When its server is gone it goes to another, and says the same decision again.
 */
import type { Answer } from '../race/history.ts';
import type { Journal } from '../race/journal.ts';
import type { Random } from '../race/random.ts';
import { type Browser, browserAt } from './browser.ts';
import type { Shown } from './chats.ts';

export interface ClientParts {
  /** The servers that answer, the own one first. */
  urls(): readonly string[];
  /** Who decides this call. */
  whoFor(call: Shown): string;
  readonly journal: Journal;
  readonly random: Random;
  /** What must not be, in words. */
  readonly problems: string[];
  /** Told to have been taken. */
  readonly taken: Decision[];
}

type Verdict = 'approve' | 'decline' | 'resume';
type Way = 'approvals' | 'stream' | 'generate' | 'resume' | 'conversation';

interface Decision {
  readonly call: Shown;
  readonly verdict: Verdict;
  readonly way: Way;
  readonly who: string;
  readonly decisionId: string;
}

/** How often a decision without an answer is said again. */
const repeatsAtMost = 100;

export async function decideCalls(
  parts: ClientParts,
  calls: readonly Shown[],
  atOnce: number,
): Promise<void> {
  const open = parts.random.shuffled(calls).values();
  const lane = async (): Promise<void> => {
    for (const call of open) await decide(parts, call);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

async function decide(parts: ClientParts, call: Shown): Promise<void> {
  const { random, problems } = parts;
  const who = parts.whoFor(call);
  const isSuspended = call.toolName === 'book';
  const verdict: Verdict = random.below(3) === 0 ? 'decline' : isSuspended ? 'resume' : 'approve';
  const way = random.pick<Way>(
    isSuspended
      ? ['approvals', 'stream', 'conversation']
      : ['approvals', 'stream', 'generate', 'resume', 'conversation'],
  );
  const decision = { call, verdict, way, who, decisionId: `${who}-${crypto.randomUUID()}` };
  if (call.toolName === 'compensate' && who === call.owner) {
    const named = way === 'conversation' ? ({ ...decision, way: 'approvals' } as const) : decision;
    const { status, body } = await send(browserAt(parts.urls()[0] ?? '', who), named).catch(gone);
    // Once the run has ended there is only the decision to tell.
    if (![403, 409, 0].includes(status)) problems.push(`${who} was told ${status} ${JSON.stringify(body)}`);
    return;
  }
  const clicks = random.below(4) === 0 ? 2 : 1;
  await Promise.all(Array.from({ length: clicks }, () => insist(parts, decision)));
}

/** Says the decision until it is answered. */
async function insist(parts: ClientParts, decision: Decision): Promise<void> {
  const { runId, toolCallId, stop } = decision.call;
  const { decisionId: token, verdict, who } = decision;
  for (let repeat = 0; repeat <= repeatsAtMost; repeat++) {
    const url = parts.urls()[0];
    if (url === undefined) throw new Error('There is no server left.');
    const ask = parts.journal.asked({ runId, toolCallId, stop, decision: { token, verdict, by: who } });
    const { status, body } = await send(browserAt(url, who), decision).catch(gone);
    const answer = answerOf(decision.way, status, body);
    parts.journal.told(ask, answer);
    if (body?.decision && answer.type === 'accepted') checkTold(parts, decision, body.decision);
    if (answer.type === 'accepted') parts.taken.push(decision);
    if (answer.type !== 'unknown' && body !== cutOff) return;
    // A page would try again in a moment, and by then the server is known to be gone.
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  parts.problems.push(`${runId}/${toolCallId}: no answer for ${token}`);
}

/** Says every third of its decisions once more, when all is over: it is answered as before, and nothing happens. */
export async function repeatTaken(parts: ClientParts): Promise<void> {
  for (const decision of parts.taken.filter((_, index) => index % 3 === 0)) {
    const browser = browserAt(parts.urls()[0] ?? '', decision.who);
    const { status, body } = await send(browser, { ...decision, way: 'approvals' });
    if (status === 202) checkTold(parts, decision, body.decision);
    else parts.problems.push(`${decision.decisionId} again is ${status}: ${JSON.stringify(body)}`);
  }
}

/** Of an answer whose stream broke before its end: the decision is taken, and a page wants to see the rest. */
const cutOff = 'cut off';

interface Told {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every kind
  readonly body?: any;
}

const gone = (): Told => ({ status: 0 });

async function send(browser: Browser, { call, verdict, way, decisionId }: Decision): Promise<Told> {
  const { runId, toolCallId, stop, fingerprint, thread, owner } = call;
  const words = { stop, fingerprint, decisionId };
  const named = { runId, toolCallId, ...words };
  const agent = '/agents/desk';
  const seats = { seats: 2 };
  switch (way) {
    case 'approvals': {
      const path = `/approvals/${runId}/${encodeURIComponent(toolCallId)}/${verdict}`;
      return browser.post(path, { ...words, ...(verdict === 'resume' ? { data: seats } : {}) });
    }
    case 'generate':
      return browser.post(`${agent}/${verdict}-tool-call-generate`, named);
    case 'conversation': {
      const said = { threadId: thread, resourceId: owner, toolCallId, approved: verdict !== 'decline' };
      return browser.post(`${agent}/send-tool-approval`, {
        ...said,
        ...words,
        ...(verdict === 'resume' ? { resumeData: seats } : {}),
      });
    }
    case 'resume':
      return read(browser, `${agent}/resume-stream`, {
        ...named,
        resumeData: { approved: verdict === 'approve' },
      });
    case 'stream':
      return verdict === 'resume'
        ? read(browser, `${agent}/resume-stream`, { ...named, resumeData: seats })
        : read(browser, `${agent}/${verdict}-tool-call`, named);
  }
}

async function read(browser: Browser, path: string, body: object): Promise<Told> {
  const events = await browser.open(path, body);
  if (events.status !== 200) return { status: events.status, body: events.body };
  return events.all().then(
    () => ({ status: 200 }),
    () => ({ status: 200, body: cutOff }),
  );
}

/** What a conversation says of a call that waits no more: it finds its calls by what is open. */
const notFound = ['run-not-found', 'call-not-found', 'ambiguous-run', 'run-ended'];

// biome-ignore lint/suspicious/noExplicitAny: bodies of every kind
function answerOf(way: Way, status: number, body: any): Answer {
  if (status === 200 || status === 202) return { type: 'accepted' };
  if (status === 0 || status === 503) return { type: 'unknown', code: body?.code ?? 'gone' };
  // The decision is stored; the model call that its leg then made was another server's.
  if (body.code === 'taken-over') return { type: 'accepted' };
  if (way === 'conversation' && notFound.includes(body.code)) return { type: 'not-waiting' };
  if (body.code !== 'already-decided') return { type: 'refused', code: `${status} ${JSON.stringify(body)}` };
  const { decisionId, verdict } = body.decision;
  return { type: 'already-decided', token: decisionId ?? '(no token)', verdict };
}

/** What a 202 says is recorded. */
function checkTold(
  { problems }: ClientParts,
  { decisionId, verdict, call, who }: Decision,
  told: { readonly decisionId?: string; readonly verdict: string; readonly by?: { readonly id: string } },
): void {
  if (told.decisionId === decisionId && told.verdict === verdict && told.by?.id === who) return;
  problems.push(`${call.runId}/${call.toolCallId}: ${who} was told ${JSON.stringify(told)}`);
}
