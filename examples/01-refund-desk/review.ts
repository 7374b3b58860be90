/** Who decides: a person in the terminal, or the flags. */
import { createInterface } from 'node:readline/promises';
import type { DemoOptions } from './options.ts';
import { type HeldCall, print } from './print.ts';

export type Verdict = { readonly approved: boolean; readonly reason?: string | undefined } | 'later';

export type Reviewer = (call: HeldCall) => Promise<Verdict>;

export function reviewerFor({ yes, no, leave }: DemoOptions): Reviewer {
  if (leave) return async () => 'later';
  if (!yes && no === undefined) return () => ask(process.stdin, process.stdout);
  return async () => {
    print.decision(yes ? 'approved (--yes)' : `declined (--no): ${no}`);
    return yes ? { approved: true } : { approved: false, reason: no };
  };
}

export async function ask(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<Verdict> {
  const terminal = createInterface({ input, output });
  const leaves = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)));
  // In the middle of a question, Ctrl-C and Ctrl-D close the terminal and leave the question unanswered.
  const question = (text: string): Promise<string | undefined> => {
    const answer = terminal.question(text).catch(() => undefined);
    return Promise.race([answer, leaves]);
  };
  try {
    for (;;) {
      const answer = (await question('  Approve it? yes, no, or Ctrl-C to leave it waiting: '))?.trim();
      if (answer === undefined) return 'later';
      if (/^y(es)?$/i.test(answer)) return { approved: true };
      if (/^no?$/i.test(answer)) {
        const reason = await question('  Why not? ');
        if (reason === undefined) return 'later';
        return { approved: false, reason: reason.trim() || undefined };
      }
    }
  } finally {
    terminal.close();
  }
}
