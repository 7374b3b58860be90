/** The end of the load, by those who are left: what is interrupted is resolved, and every run is looked at. */
import type { Store } from '../../src/index.ts';
import type { Effects } from '../race/effects.ts';
import type { Ending, Target } from '../race/messages.ts';
import { type Answer, type Browser, browserAt } from './browser.ts';
import type { Chat, Shown } from './chats.ts';

interface Left {
  /** Of the servers that are left. */
  readonly urls: readonly string[];
  readonly begun: readonly Chat[];
  readonly effects: Effects;
  readonly store: Store;
  /** What must not be, in words. */
  readonly problems: string[];
}

interface ListedRun {
  readonly runId: string;
  readonly status: string;
  readonly toolCalls: readonly (Omit<Shown, 'runId'> & { readonly state: string })[];
}

/** @throws when runs are still open after a while without progress. */
export async function endLoad(left: Left): Promise<Ending> {
  const { urls, begun, problems, store } = left;
  const reviewer = browserAt(urls[0] ?? '', 'rita');
  const first = await listed(reviewer);
  const unlisted: string[] = [];
  for (const { runId } of begun) {
    const isListed = first.some((run) => run.runId === runId);
    if (!isListed && (await store.load(runId, Number.MAX_SAFE_INTEGER))?.kind !== 'ended')
      unlisted.push(runId);
  }
  const waiting = new Map(begun.filter(({ isLeft }) => isLeft).map((chat) => [chat.runId, chat]));
  const resolved = { output: 0, error: 0, runAgain: 0 };
  const undecided: Target[] = [];
  let patience = Date.now() + 20_000;
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    const open = (await listed(reviewer)).filter(({ runId }) => !waiting.has(runId));
    if (open.length === 0) break;
    for (const { runId, status, toolCalls } of open) {
      if (status === 'stalled') problems.push(`${runId}: is stalled`);
      for (const { toolCallId, state, stop } of toolCalls) {
        if (state === 'interrupted') await resolve(left, reviewer, { runId, toolCallId, stop }, resolved);
        else undecided.push({ runId, toolCallId });
      }
    }
    if (undecided.length > 0) break;
    if (open.length < last) patience = Date.now() + 20_000;
    else if (Date.now() > patience)
      throw new Error(`${open.length} runs do not end: ${JSON.stringify(open[0])}`);
    last = open.length;
    // What a dead server holds is its own until the database's clock says otherwise.
    await new Promise((next) => setTimeout(next, 50));
  }
  await lookAtAll(left, await listed(reviewer));
  return { unlisted, undecided, resolved, continued: 0 };
}

/** Every run that is open, waiting or not. */
async function listed(browser: Browser): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  for (let cursor = ''; ; ) {
    const { body } = await browser.get(`/agents/desk/suspended-runs?status=all&perPage=100${cursor}`);
    found.push(...body.runs);
    if (body.cursor === undefined) return found;
    cursor = `&cursor=${encodeURIComponent(body.cursor)}`;
  }
}

/** The person who looks at the world to say what happened. */
async function resolve(
  { effects, problems }: Left,
  browser: Browser,
  { runId, toolCallId, stop }: Target & { readonly stop: number },
  resolved: { output: number; error: number; runAgain: number },
): Promise<void> {
  const happened = effects.of(runId, toolCallId) > 0;
  const word = happened ? 'output' : resolved.runAgain > resolved.error ? 'error' : 'runAgain';
  const said = { output: { done: toolCallId }, error: 'It did not happen.', runAgain: true }[word];
  const path = `/approvals/${runId}/${encodeURIComponent(toolCallId)}/resolve`;
  const { status, body } = await browser.post(path, { stop, [word]: said });
  if (status === 202) resolved[word]++;
  else problems.push(`${runId}/${toolCallId}: to resolve it was answered ${status} ${JSON.stringify(body)}`);
}

/** As the customers see it: what was decided has ended with an answer, what was not waits as it was shown. */
async function lookAtAll({ urls, begun, problems }: Left, open: readonly ListedRun[]): Promise<void> {
  await Promise.all(
    begun.map(async ({ runId, calls, isLeft }, index) => {
      const [{ owner } = { owner: '' }] = calls;
      const browser = browserAt(urls[index % urls.length] ?? '', owner);
      const events = await browser.open(`/runs/${runId}/events`);
      if (events.status !== 200) return void problems.push(`${runId}: cannot be followed: ${events.status}`);
      const chunks = await events.all();
      const { finishReason } = chunks.at(-1)?.payload ?? {};
      const answered = chunks.some(({ type }) => type === 'text-delta');
      if (finishReason !== (isLeft ? 'suspended' : 'stop') || !answered) {
        problems.push(`${runId}: its owner sees that it is ${finishReason}`);
      }
      const now = open.find((run) => run.runId === runId)?.toolCalls ?? [];
      const shown = (isLeft ? calls : []).map(factsOf);
      if (JSON.stringify(now.map(factsOf)) !== JSON.stringify(shown)) {
        problems.push(`${runId}: is listed as ${JSON.stringify(now)}`);
      }
    }),
  );
  const threads = Map.groupBy(begun, ({ calls }) => calls[0]?.thread);
  for (const [thread, chats] of threads) {
    const owner = chats[0]?.calls[0]?.owner ?? '';
    const answer = await browserAt(urls[0] ?? '', owner).get(`/memory/threads/${thread}/messages`);
    problems.push(...threadProblems(answer, chats).map((problem) => `${thread}: ${problem}`));
  }
}

function factsOf({
  toolCallId,
  toolName,
  args,
  stop,
  fingerprint,
}: Omit<Shown, 'runId' | 'owner' | 'thread'>) {
  return { toolCallId, toolName, args, stop, fingerprint };
}

/** Each chat is one part of its thread, and shows that it waits exactly when it does. */
function threadProblems({ body }: Answer, chats: readonly Chat[]): string[] {
  const messages: { role: string; parts: { toolCallId?: string; state?: string; type: string }[] }[] =
    body.messages;
  return chats.flatMap(({ calls, isLeft }) =>
    calls.flatMap(({ toolCallId }) => {
      const parts = messages.flatMap((message) =>
        message.parts.filter((part) => part.toolCallId === toolCallId && part.type.startsWith('tool-')),
      );
      const states = parts.map(({ state = '' }) => state);
      const isOpen = states.some((state) => state === 'approval-requested' || state === 'input-available');
      return states.length === 1 && isOpen === isLeft
        ? []
        : [`${toolCallId} is shown as ${states.join(', ')}`];
    }),
  );
}
