/** The long forms, for `npm run torture`: every point, on every database. Each prints its counts. */

import { startPostgres } from '../../test/support/postgres.ts';
import { databases, temporaryFolder } from '../race/places.ts';
import { crashMatrix } from './kill.ts';

/** Points that must have been covered at least, on each database. */
const pointsAtLeast = 60;

type DatabaseName = (typeof databases)[number]['name'];

/** Kills a process at every point of every scenario. Returns what is wrong. */
async function crashTorture(name: DatabaseName, postgresUrl: () => Promise<string>): Promise<string[]> {
  const database = databases.find((one) => one.name === name);
  if (database === undefined) return [`There is no database "${name}".`];
  const { folder, remove } = temporaryFolder();
  try {
    const place = await database.create(folder, postgresUrl);
    const { points, kills, effects, problems } = await crashMatrix(place, folder);
    console.log(
      `crash matrix on ${name}: ${points} points, ${kills} processes killed, ${effects} side effects, ` +
        `${problems.length} problems`,
    );
    const few = points < pointsAtLeast ? [`${points} points on ${name}: ${pointsAtLeast} are wanted`] : [];
    return [...few, ...problems];
  } finally {
    remove();
  }
}

const noServer = async (): Promise<string> => {
  throw new Error('This database needs no server.');
};

export function sqlite(): Promise<string[]> {
  return crashTorture('sqlite', noServer);
}

export function libsql(): Promise<string[]> {
  return crashTorture('libsql', noServer);
}

/** On a server that waits for the disk. */
export async function postgres(): Promise<string[]> {
  const server = await startPostgres({ fsync: true });
  try {
    return await crashTorture('postgres', async () => server.url);
  } finally {
    await server.remove();
  }
}
