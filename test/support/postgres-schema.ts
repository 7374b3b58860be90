/** For tests: where the run's PostgreSQL server is, and a schema for each test. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';

/** The url of the server, which is started if it is not there yet. */
export async function postgresUrl(): Promise<string> {
  const answer = await text(connect(inject('postgresPort'), '127.0.0.1'));
  if (!answer.startsWith('postgres://')) throw new Error(`There is no PostgreSQL server: ${answer}`);
  return answer;
}

/** A name that no other test has. The schema itself is made by the store that opens it. */
export function newSchemaName(): string {
  return `test_${crypto.randomUUID().replaceAll('-', '')}`;
}
