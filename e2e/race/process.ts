/** One process of a race. Started by `race.ts`, with its options as argument, and talked to by IPC. */
import type { Store } from '../../src/index.ts';
import { openAsking } from './asking.ts';
import { openDesk, orderFor, registryOf } from './desk.ts';
import { openEffects } from './effects.ts';
import { finish } from './finish.ts';
import { openJournal } from './journal.ts';
import type { FromProcess, ProcessOptions, ToProcess } from './messages.ts';
import { openPlace } from './places.ts';
import { randomFrom } from './random.ts';
import { tellingWorker, withoutClaims } from './wrappers.ts';

const options = JSON.parse(process.argv[2] ?? '') as ProcessOptions;
const say = (message: FromProcess): void => {
  // The channel is gone when the race is: then there is nobody left to tell.
  if (process.connected) process.send?.(message);
};

const random = randomFrom(options.seed);
const effects = openEffects(options.effects);
const opened = openPlace(options.place);
const store: Store = tellingWorker(options.withoutClaims ? withoutClaims(opened) : opened, (worker) =>
  say({ type: 'worker', worker }),
);
const warn = (message: string): void => say({ type: 'warned', message });
const desk = openDesk({ store, effects, random, warn, onTool: (what) => say({ type: 'tool', what }) });
const front = options.hasAgent ? undefined : registryOf({}, store, warn);
const countersign = front ?? desk.countersign;
const journal = openJournal(options.journal, options.name);

async function stop(): Promise<void> {
  await countersign.stop();
  await store.close();
  effects.close();
  say({ type: 'stopped' });
  process.disconnect?.();
}

async function handle(message: ToProcess): Promise<void> {
  switch (message.type) {
    case 'runs':
      if (options.task === 'finish') {
        const ending = await finish(desk, effects, message.runIds, random);
        return say({ type: 'finished', ending });
      }
      for (const runId of message.runIds) {
        const conversation = { thread: `thread of ${runId}`, resource: 'customer' };
        const durable = random.below(4) === 0;
        const { finishReason } = await desk.agent.generate(orderFor(runId), {
          runId,
          durable,
          memory: conversation,
        });
        if (finishReason !== 'suspended') throw new Error(`${runId} is ${finishReason}`);
      }
      return say({ type: 'finished' });
    case 'read':
      for (const runId of message.runIds) await store.load(runId, 0);
      return say({ type: 'finished' });
    case 'decide': {
      const asking = openAsking({ desk: front ? undefined : desk, countersign, journal, random, say });
      countersign.start();
      await asking.all(message.targets, options.atOnce);
      return say({ type: 'finished' });
    }
    case 'stop':
      return stop();
  }
}

process.on('message', (message: ToProcess) => void handle(message));
// Whoever lost its parent has nobody to work for.
process.on('disconnect', () => process.exit());
say({ type: 'ready' });
