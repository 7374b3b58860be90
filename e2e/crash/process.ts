/** The processes of the crash tests: one plays a scenario until it is killed, another recovers what the dead left. */
import { setTimeout as pause } from 'node:timers/promises';
import { evidenceOf, problemsOf } from '../../test/crash/check.ts';
import { play } from '../../test/crash/person.ts';
import { recover } from '../../test/crash/recover.ts';
import { scenarios } from '../../test/crash/scenarios.ts';
import { openPlace, type Place } from '../race/places.ts';
import { fileJournal } from './file-journal.ts';
import { type KillPoint, openProcessWorld } from './process-world.ts';

export interface Task {
  readonly runId: string;
  readonly scenario: string;
  readonly at?: KillPoint | undefined;
}

/** `play` has one task; `recover` has all whose processes are dead; `check` the same, when all have recovered. */
export interface Order {
  readonly part: 'play' | 'recover' | 'check';
  readonly place: Place;
  readonly journal: string;
  readonly tasks: readonly Task[];
}

export type Answer =
  | { readonly part: 'play'; readonly writes: readonly string[]; readonly phases: readonly string[] }
  | { readonly part: 'recover' | 'check'; readonly problems: Readonly<Record<string, readonly string[]>> };

const order = JSON.parse(process.argv[2] ?? '') as Order;

function scenarioOf({ scenario: name }: Task): (typeof scenarios)[number] {
  const scenario = scenarios.find((one) => one.name === name);
  if (scenario === undefined) throw new Error(`There is no scenario "${name}".`);
  return scenario;
}

async function answerTo({ part, place, journal: path, tasks }: Order): Promise<Answer> {
  const journal = fileJournal(path);
  const shared = openPlace(place);
  try {
    const [first] = tasks;
    const world = openProcessWorld(shared, journal, first?.at);
    if (part === 'play' && first) {
      await play(scenarioOf(first), world.agent, first.runId, journal);
      return { part, writes: world.writes, phases: world.phases };
    }
    const problems: Record<string, string[]> = {};
    for (const task of tasks) {
      const { runId } = task;
      problems[runId] =
        part === 'recover'
          ? await recover(runId, { ...world, journal, letOthersMove: () => pause(50) })
          : problemsOf(await evidenceOf(shared, scenarioOf(task), runId, journal.read(runId)));
    }
    return { part: part === 'check' ? 'check' : 'recover', problems };
  } finally {
    await shared.close();
    journal.close();
  }
}

const answer = await answerTo(order);
process.send?.(answer, undefined, undefined, () => process.exit(0));
