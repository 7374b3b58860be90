/** A time that one can stop waiting for. */
export type Wait = (milliseconds: number) => { readonly over: Promise<void>; stop(): void };

export const timer: Wait = (milliseconds) => {
  let timeout: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timeout = setTimeout(resolve, milliseconds);
  });
  return { over, stop: () => clearTimeout(timeout) };
};
