import { expect, test } from "vitest";
import { backoff, inTurn, sleep, type Locks } from "./turn";

/** The locks of a browser, of one name. */
class FakeLocks {
  #held: { reject: (error: unknown) => void } | null = null;
  #waiting: (() => void)[] = [];

  request = async (_name: string, { steal, signal }: LockOptions, work: () => Promise<void>): Promise<void> => {
    const aborted = new DOMException("aborted", "AbortError");
    if (steal) this.#held?.reject(aborted);
    else if (this.#held) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push(resolve);
        signal?.addEventListener("abort", () => {
          this.#waiting = this.#waiting.filter((other) => other !== resolve);
          reject(aborted);
        });
      });
    }
    await new Promise<void>((resolve, reject) => {
      const mine = (this.#held = { reject });
      void work().then(() => {
        if (this.#held === mine) {
          this.#held = null;
          this.#waiting.shift()?.();
        }
        resolve();
      });
    });
  };
}

const locks = (): Locks => new FakeLocks() as unknown as Locks;

function tab(all: Locks, take = false): { ending: AbortController; works: () => boolean; over: Promise<void> } {
  const ending = new AbortController();
  let works = false;
  const over = inTurn(all, "n", ending.signal, async (signal) => {
    works = true;
    await sleep(60_000, signal);
    works = false;
  }, take);
  return { ending, works: () => works, over };
}

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

test("one works at a time, and the next one when it ends", async () => {
  const all = locks();
  const [first, second, third] = [tab(all), tab(all), tab(all)];
  await soon();
  expect([first.works(), second.works(), third.works()]).toEqual([true, false, false]);
  second.ending.abort(); // it does not wait any more
  first.ending.abort();
  await Promise.all([first.over, second.over]);
  await soon();
  expect([first.works(), second.works()]).toEqual([false, false]);
  third.ending.abort();
});

test("who takes the turn ends the work of who had it", async () => {
  const all = locks();
  const first = tab(all);
  await soon();
  const second = tab(all, true);
  await first.over;
  await soon();
  expect([first.works(), second.works()]).toEqual([false, true]);
  second.ending.abort();
  await second.over;
});

test("without locks each works", async () => {
  const [first, second] = [tab(null), tab(null)];
  await soon();
  expect([first.works(), second.works()]).toEqual([true, true]);
  first.ending.abort();
  second.ending.abort();
  await Promise.all([first.over, second.over]);
});

test("attempts are further and further apart, up to a limit", () => {
  const longest = [1, 2, 3, 4, 5, 50].map((n) => Math.max(...Array.from({ length: 200 }, () => backoff(n))));
  expect(longest.every((ms, i) => ms <= [500, 1000, 2000, 4000, 8000, 8000][i]!)).toBe(true);
  expect(Math.min(...Array.from({ length: 200 }, () => backoff(50)))).toBeGreaterThanOrEqual(4000);
});
