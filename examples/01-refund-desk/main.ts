/**
 * A refund desk: an agent that answers a customer, and may not refund much or write to anybody on its own.
 * Run it with `npm run demo`; `--help` lists the options.
 */
import { isCountersignError } from 'countersign';
import { runChat } from './chat.ts';
import { runConversation } from './conversation.ts';
import { openDesk } from './desk.ts';
import { chooseModel } from './model.ts';
import { commandFor, type DemoOptions, help, readOptions } from './options.ts';
import { print, printRows } from './print.ts';
import { runInTwoProcesses } from './restart.ts';
import { reviewerFor } from './review.ts';

async function runDemo(options: DemoOptions): Promise<number> {
  const model = await chooseModel(process.env);
  const kind = options.chat ? 'chat' : options.team ? 'team' : 'one';
  const desk = openDesk(options.folder, model.model, kind);
  try {
    print.note(`Model: ${model.about}`);
    if (options.chat) {
      await runChat(desk, reviewerFor(options), process.stdin);
      printRows('The database after', desk.shop.rows());
      return 0;
    }
    const end = await runConversation(desk, reviewerFor(options));
    if (end === 'waiting') {
      print.note(`\nThe call keeps waiting in ${options.folder}, for seconds or for weeks.`);
      print.note(`To go on: ${commandFor(options)}`);
      return 0;
    }
    printRows('The database after', desk.shop.rows());
    if (end === 'answered') return 0;
    print.note(`\nThe model failed. What ran stays done. To try again: ${commandFor(options)}`);
    return 1;
  } finally {
    await desk.close();
    await model.close();
  }
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(help);
  else process.exitCode = await (options.restart ? runInTwoProcesses() : runDemo(options));
} catch (error) {
  // What a person can put right is said in one sentence; everything else is a bug and keeps its stack.
  if (!isCountersignError(error)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
