import { expect, test } from "vitest";
import { grows, merged, type Known } from "./merge";

const EMPTY: Known = { queries: {}, topics: {}, server: null };

test("a line changes what it names", () => {
  let known = merged(EMPTY, { full: true, at: 1, queries: { Q: { rowsIn: 1, lag: 3 } }, topics: { t: { readRate: 1 } }, server: { cpu: 1 } });
  known = merged(known, { at: 2, queries: { Q: { lag: 0 } } });
  expect(known.queries["Q"]).toEqual({ rowsIn: 1, lag: 0 });
  expect(known.server).toEqual({ cpu: 1 });
  expect(merged(known, { at: 3, gone: ["Q"], goneTopics: ["t"] })).toEqual({ queries: {}, topics: {}, server: { cpu: 1 } });
  expect(merged(known, { full: true, at: 4, queries: { R: { lag: 1 } } }).queries).toEqual({ R: { lag: 1 } });
});

test("a lag grows that is larger than it was, and large", () => {
  expect(grows([0, 100, 200, 300, 400, 500, 600, 700, 800, 900])).toBe(true);
  expect(grows([900, 800, 700, 600, 500, 400, 300, 200, 100, 0])).toBe(false);
  expect(grows(Array(10).fill(500))).toBe(false);
  expect(grows([0, 0, 0, 0, 0, 1, 2, 3, 4, 5])).toBe(false);
  expect(grows([1000])).toBe(false);
});
