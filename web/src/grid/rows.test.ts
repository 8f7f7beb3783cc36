import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Rows } from "./rows.svelte";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const numbers = (rows: Rows): number[] => rows.shown.map((row) => row.number);

function come(rows: Rows, ...values: string[]): void {
  rows.add(
    values.map((value) => [value]),
    values.map((value) => value.length),
  );
  vi.advanceTimersByTime(200);
}

test("rows come together, and the last ones are kept", () => {
  const rows = new Rows(3);
  rows.add([["a"], ["b"]]);
  expect(numbers(rows)).toEqual([]);
  come(rows, "c", "d");
  expect(numbers(rows)).toEqual([2, 3, 4]);
  expect([rows.added, rows.lost]).toEqual([4, 1]);
});

test("a filter goes on with what comes, and forgets what goes", () => {
  const rows = new Rows(4);
  come(rows, "tea", "milk", "Tea");
  rows.narrow("tea");
  expect(numbers(rows)).toEqual([1, 3]);
  come(rows, "green tea", "milk");
  expect(numbers(rows)).toEqual([3, 4]);
  come(rows, "milk", "milk", "milk");
  expect(numbers(rows)).toEqual([]);
  rows.narrow("");
  expect(numbers(rows)).toEqual([5, 6, 7, 8]);
});

test("a pause keeps what is in sight, also for a filter, and shows the others when it is over", () => {
  const rows = new Rows(3);
  come(rows, "tea", "milk");
  rows.pause(true);
  come(rows, "tea", "tea", "tea");
  expect([numbers(rows), rows.added]).toEqual([[1, 2], 5]);
  rows.narrow("tea");
  expect(numbers(rows)).toEqual([1]);
  rows.pause(false);
  expect(numbers(rows)).toEqual([3, 4, 5]);
});

test("large rows are kept in a smaller number, the last one always", () => {
  const rows = new Rows(10, 8);
  come(rows, "four", "four", "four");
  expect([numbers(rows), rows.lost]).toEqual([[2, 3], 1]);
  come(rows, "longer than all");
  expect(numbers(rows)).toEqual([4]);
});

test("the first row behind a lost connection is marked", () => {
  const rows = new Rows();
  rows.breaks(); // nothing was there, so nothing is missing
  come(rows, "a");
  rows.breaks();
  come(rows, "b", "c");
  expect(rows.shown.map((row) => row.gap ?? false)).toEqual([false, true, false]);
});
