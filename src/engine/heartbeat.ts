/**
 * Owns whether this worker may be thought dead. It says that it lives while it holds anything, and it begins
 * nothing on a heartbeat so old that somebody could take over meanwhile.
 */
import { CountersignError, messageOf } from '../core/errors.ts';
import type { Clock } from '../core/log.ts';

export interface HeartbeatOptions {
  /** How often it beats, in milliseconds. Default 5,000. */
  readonly every?: number | undefined;
  /**
   * After how many milliseconds without a beat others take over. Default 20,000; more than twice `every`, and the same
   * in every process.
   */
  readonly lease?: number | undefined;
}

export interface Heartbeat {
  readonly lease: number;
  /** Resolves when a beat is stored that is younger than `every`; undefined when there is one. */
  alive(): Promise<void> | undefined;
  /**
   * Whether the last stored beat was sent less than half a lease ago, and none was later than that since a claim was
   * made: a worker that slept may have been thought dead meanwhile.
   */
  mayBegin(claimedAt: number): boolean;
  /** Forgets that it lived: its row is gone. */
  reset(): void;
  /** Keeps beating until what it returns is called. */
  hold(): () => void;
}

interface HeartbeatPorts {
  readonly clock: Clock;
  /** Milliseconds of a clock that nobody sets. */
  monotonic(): number;
  /** Stores one beat. */
  beat(): Promise<void>;
  /** Called after each regular beat. */
  afterBeat(): Promise<void>;
  warn(message: string): void;
}

/** @throws `invalid-option` unless a beat is always younger than half a lease. */
export function openHeartbeat(ports: HeartbeatPorts, options: HeartbeatOptions = {}): Heartbeat {
  const { every = 5000, lease = 20_000 } = options;
  if (!(Number.isFinite(every) && Number.isFinite(lease) && every >= 1 && lease > 2 * every)) {
    throw new CountersignError('invalid-option', 'The option heartbeat is malformed.', {
      expected: '{ every, lease } in milliseconds, with lease more than twice as long as every',
    });
  }
  /** When the last beat that is stored was sent. */
  let sent = Number.NEGATIVE_INFINITY;
  /** Since when there was no gap of half a lease between beats. */
  let aliveSince = Number.NEGATIVE_INFINITY;
  let beating: Promise<void> | undefined;
  let holds = 0;
  let isLooping = false;

  const age = (): number => ports.monotonic() - sent;

  const beat = (): Promise<void> => {
    beating ??= (async () => {
      const now = ports.monotonic();
      try {
        await ports.beat();
        if (now - sent >= lease / 2) aliveSince = now;
        sent = now;
      } finally {
        beating = undefined;
      }
    })();
    return beating;
  };

  const loop = async (): Promise<void> => {
    isLooping = true;
    while (holds > 0) {
      await ports.clock.sleep(every, { background: true });
      if (holds === 0) break;
      try {
        await beat();
        await ports.afterBeat();
      } catch (error) {
        ports.warn(`A heartbeat was not stored: ${messageOf(error)}`);
      }
    }
    isLooping = false;
  };

  return {
    lease,
    alive() {
      if (!isLooping) void loop();
      return age() < every ? undefined : beat();
    },
    mayBegin: (claimedAt) => age() < lease / 2 && aliveSince <= claimedAt,
    reset() {
      sent = Number.NEGATIVE_INFINITY;
    },
    hold() {
      holds++;
      let isHeld = true;
      return () => {
        if (isHeld) holds--;
        isHeld = false;
      };
    },
  };
}
