/** A sample of the crash matrix with real processes and `kill -9`. All points: `npm run torture`. */
import { describe, expect, test } from 'vitest';
import { postgresUrl } from '../../test/support/postgres-schema.ts';
import { databases, temporaryFolder } from '../race/places.ts';
import { crashMatrix } from './kill.ts';

/** Few enough for every `npm test`. */
const sample = 14;

describe.each(databases.filter(({ name }) => name !== 'libsql'))('on $name', (database) => {
  test('scenario: K9 what kill -9 leaves, also in sub-agents, is recovered by two others, with no call run twice', async () => {
    const { folder, remove } = temporaryFolder();
    try {
      const place = await database.create(folder, postgresUrl);
      const { points, kills, effects, problems } = await crashMatrix(place, folder, sample);
      console.log(
        `crash sample on ${database.name}: ${points} points, ${kills} kills, ${effects} side effects`,
      );
      expect(problems).toEqual([]);
      expect(kills).toBe(sample);
    } finally {
      remove();
    }
  });
});
