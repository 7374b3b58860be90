/** A server process: `serve` on a store that others have open too. Talked to by IPC, and by HTTP. */
import { bearerTokens, createServer, serve } from '../../src/server/index.ts';
import { openEffects } from '../race/effects.ts';
import { openPlace } from '../race/places.ts';
import { openDesk } from './desk.ts';
import type { FromServer, ServerOptions, ToServer } from './messages.ts';

const { place, effects, port = 0, people, stuck } = JSON.parse(process.argv[2] ?? '') as ServerOptions;
const say = (message: FromServer): void => {
  if (process.connected) process.send?.(message);
};

const looking = Promise.withResolvers<void>();
let carriedOut = 0;
let stopped = 0;

/** Some tools never go on: of those that stop, every second one has had its effect. */
async function pass(when: 'before' | 'after'): Promise<void> {
  if (when === 'after') carriedOut++;
  const isDue = stuck !== undefined && carriedOut >= stuck.after && stopped < stuck.many;
  if (!isDue || when !== (stopped % 2 === 0 ? 'before' : 'after')) return;
  stopped++;
  if (stopped === stuck.many) say({ type: 'stuck' });
  await new Promise(() => {});
}

const countersign = openDesk({
  store: openPlace(place),
  effects: openEffects(effects),
  look: () => {
    say({ type: 'looking' });
    return looking.promise;
  },
  pass,
  warn: (message) => say({ type: 'warned', message }),
});
countersign.start();
const authenticate = bearerTokens(Object.fromEntries(people.map((person) => [person.id, person])));
const limits = { requestsPerMinute: 100_000, streams: 1000 };
const app = createServer({ countersign, auth: { authenticate }, limits, logger: false });
const { url } = await serve(app, { port });
process.on('message', ({ type }: ToServer) => {
  if (type === 'look') looking.resolve();
});
// Whoever lost its parent has nobody to work for.
process.on('disconnect', () => process.exit());
say({ type: 'listening', url });
