// One of the browser's tabs at a time does a work that all of them need.

/** What this needs of the browser's locks; null where there are none, as on a page that came by plain http from another machine. */
export type Locks = Pick<LockManager, "request"> | null;

export function locksHere(): Locks {
  return globalThis.navigator?.locks ?? null;
}

/**
 * Does the work when no other tab does one of this name, until the signal ends it or another tab takes the turn. Without locks
 * each tab does its own. `take`: does not wait, but takes the turn from the tab that has it, as one that does not answer.
 */
export async function inTurn(
  locks: Locks,
  name: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
  take = false,
): Promise<void> {
  if (locks === null) return work(signal);
  const lost = new AbortController();
  const either = AbortSignal.any([signal, lost.signal]);
  try {
    await locks.request(name, take ? { steal: true } : { signal }, () => work(either));
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) throw error; // ended, or the turn was taken
  } finally {
    lost.abort();
  }
}

/** Waits, unless the signal ends it before. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}

/** The time to wait after so many attempts that have failed in a row, in ms: longer and longer, and not the same in all browsers. */
export function backoff(failed: number, first = 500, longest = 8000): number {
  return Math.min(longest, first * 2 ** (failed - 1)) * (0.5 + Math.random() / 2);
}
