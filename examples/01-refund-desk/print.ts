/** What the demo shows. `styleText` leaves out the colours where stdout is no terminal. */
import { styleText } from 'node:util';
import type { AgentStream } from 'countersign';
import type { Rows } from './shop.ts';

/** What a reviewer is shown. A chunk, a list entry and `suspendPayloads` all have these fields. */
export interface HeldCall {
  readonly toolCallId: string;
  readonly stop: number;
  readonly toolName: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly fingerprint: string;
  /** The agents that it was delegated to, where a specialist asks for it. */
  readonly path?: readonly { readonly agentId: string }[];
}

export const print = {
  note: (text: string): void => console.log(styleText('dim', text)),
  customer: (text: string): void => console.log(`\n${styleText('bold', 'Customer:')} ${text}`),
  question: (text: string): void => console.log(`${styleText('yellow', '? asked')}  ${harmless(text)}`),
  decision: (text: string): void => console.log(`  ${styleText('bold', text)}`),
  held({ toolName, args, fingerprint, path = [] }: HeldCall): void {
    const asker = path.length > 0 ? `, asked for by ${path.map(({ agentId }) => agentId).join(' > ')}` : '';
    console.log(`\n${styleText('yellow', '⏸ held')}  ${styleText('bold', toolName)}${asker}`);
    for (const [name, value] of Object.entries(args)) {
      console.log(`  ${harmless(name).padEnd(12)} ${harmless(JSON.stringify(value))}`);
    }
    console.log(styleText('dim', `  ${'fingerprint'.padEnd(12)} ${fingerprint.slice(0, 12)}…`));
  },
};

/** Prints a leg as it comes: the outcome of each call, and the agent's words. */
export async function showLeg(leg: AgentStream): Promise<void> {
  let isInText = false;
  const endText = (): void => {
    if (isInText) process.stdout.write('\n');
    isInText = false;
  };
  for await (const chunk of leg.fullStream) {
    switch (chunk.type) {
      case 'text-delta':
        if (!isInText) process.stdout.write(`${styleText('bold', 'Agent:')} `);
        isInText = true;
        process.stdout.write(harmless(chunk.payload.text));
        break;
      case 'text-end':
        endText();
        break;
      case 'tool-result':
        console.log(
          `${styleText('green', '✓ ran')}  ${outcome(chunk.payload.toolName, chunk.payload.result)}`,
        );
        break;
      case 'tool-error':
        console.log(
          `${styleText('red', '✗ failed')}  ${outcome(chunk.payload.toolName, chunk.payload.error.message)}`,
        );
        break;
      case 'tool-output-denied':
        console.log(`${styleText('red', '✗ declined')}  ${chunk.payload.toolName}, which did not run`);
        break;
      case 'error':
        endText();
        console.log(`${styleText('red', '✗ error')}  ${harmless(chunk.payload.error.message)}`);
        break;
    }
  }
}

/** What a model wrote must not move the cursor or turn the text around: the reviewer would see something else. */
function harmless(text: string): string {
  return text.replace(
    /(?!\n)[\p{Cc}\p{Bidi_Control}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

function outcome(toolName: string, value: unknown): string {
  return `${toolName} → ${harmless(typeof value === 'string' ? value : JSON.stringify(value))}`;
}

export function printRows(title: string, tables: Rows): void {
  console.log(`\n${styleText('bold', title)}`);
  for (const [name, rows] of Object.entries(tables)) {
    const lines = rows.map((row) => Object.values(row).join(' · '));
    console.log(`  ${name.padEnd(8)} ${lines.length === 0 ? 'none' : lines.join(`\n${' '.repeat(11)}`)}`);
  }
}
