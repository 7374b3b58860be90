/** Wakes those who wait for something new, where the database itself tells nobody: for what this process wrote. */
import { clearTimeout, setTimeout } from 'node:timers';

export interface Wakes {
  /** Resolves when something came since the last wait, or after so many milliseconds. */
  wait(milliseconds: number): Promise<void>;
  wake(): void;
}

export function openWakes(): Wakes {
  const waiting = new Set<() => void>();
  let isNew = false;
  return {
    wait(milliseconds) {
      if (isNew) {
        isNew = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, milliseconds);
        timer.unref();
        waiting.add(done);
      });
    },
    wake() {
      isNew = waiting.size === 0;
      for (const done of [...waiting]) done();
    },
  };
}
