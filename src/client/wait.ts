/** Time passes. Rejects with the signal's reason as soon as that is aborted. */
export type Wait = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export const wait: Wait = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
