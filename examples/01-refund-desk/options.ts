/** The command line of the demo. */
import { parseArgs } from 'node:util';

const defaultFolder = '.countersign/refund-desk';

export const help = `npm run demo                     ask here, in the terminal
npm run demo -- --yes            approve what is held
npm run demo -- --no "too much"  decline what is held, with this reason
npm run demo -- --restart        end the process at the first pause, go on in a second one
npm run demo -- --team           a supervisor and two specialists, each with its own tools
npm run demo -- --chat           a conversation that is remembered, message by message
npm run demo -- --leave          only the first half of --restart: leave the call waiting
npm run demo -- --folder <path>  where the databases are (default ${defaultFolder})

With OPENAI_API_KEY, ANTHROPIC_API_KEY or COUNTERSIGN_MODEL='provider/model' set, that model is used.`;

export interface DemoOptions {
  readonly yes: boolean;
  /** The reason to decline with. */
  readonly no: string | undefined;
  readonly restart: boolean;
  readonly leave: boolean;
  readonly team: boolean;
  readonly chat: boolean;
  readonly folder: string;
  readonly help: boolean;
}

/** The command that goes on with the same databases. */
export function commandFor({ folder, team, chat }: DemoOptions): string {
  const options = [
    team ? '--team' : '',
    chat ? '--chat' : '',
    folder === defaultFolder ? '' : `--folder "${folder}"`,
  ];
  return ['npm run demo --', ...options.filter(Boolean)].join(' ').replace(/ --$/, '');
}

/** Reads the options, or prints what is wrong with them and ends the process. */
export function readOptions(args: readonly string[]): DemoOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        yes: { type: 'boolean', default: false },
        no: { type: 'string' },
        restart: { type: 'boolean', default: false },
        leave: { type: 'boolean', default: false },
        team: { type: 'boolean', default: false },
        chat: { type: 'boolean', default: false },
        folder: { type: 'string', default: defaultFolder },
        help: { type: 'boolean', default: false },
      },
    });
    const options = { ...values, no: values.no };
    if (options.yes && options.no !== undefined) throw new Error('Choose one of --yes and --no.');
    if (options.chat && (options.team || options.restart)) {
      throw new Error('--chat goes alone. It goes on where it stopped when it is started again.');
    }
    if (needsTerminal(options) && !process.stdin.isTTY) {
      throw new Error('There is no terminal to ask in. Decide with --yes or with --no "reason".');
    }
    return options;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    return process.exit(2);
  }
}

function needsTerminal({ yes, no, leave, help: onlyHelp }: DemoOptions): boolean {
  return !yes && no === undefined && !leave && !onlyHelp;
}
