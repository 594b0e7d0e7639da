/** Timers without a limit of their own: those of JavaScript fire at once beyond 24 days. */

const LONGEST_MS = 2 ** 31 - 1;

/** Calls `act` after so many milliseconds, and never after `Infinity`; returns what takes it back. */
export function after(milliseconds: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (left: number): void => {
    timer = setTimeout(() => (left > LONGEST_MS ? wait(left - LONGEST_MS) : act()), Math.min(left, LONGEST_MS));
  };
  if (milliseconds < Infinity) wait(milliseconds);
  return () => clearTimeout(timer);
}
