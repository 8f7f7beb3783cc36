import { expect, test } from "vitest";
import { chosen } from "./places";
import { change } from "./session";
import type { Place } from "../rest/statements";

test("SET, UNSET, DEFINE and UNDEFINE change what later statements get", () => {
  const on = { properties: {} as Record<string, string>, variables: {} as Record<string, string> };
  expect(change("SET 'auto.offset.reset' = 'earliest';", on)).toContain("earliest");
  expect(change("define city = 'O''Hare';", on)).toContain("${city}");
  expect(on).toEqual({ properties: { "auto.offset.reset": "earliest" }, variables: { city: "O'Hare" } });
  change("UNSET 'auto.offset.reset';", on);
  change("UNDEFINE city", on);
  expect(on).toEqual({ properties: {}, variables: {} });
  expect(change("SELECT 1;", on)).toBeNull();
});

const place = (start: number, end: number): Place => ({ start, end, kind: "statement", name: "" });
const PLACES = [place(0, 10), place(12, 20), place(30, 40)];

test.each([
  [5, 5, [0]],
  [11, 11, [0]], // behind a statement
  [12, 12, [1]],
  [25, 25, [1]],
  [40, 40, [2]],
  [5, 15, [0, 1]],
  [0, 40, [0, 1, 2]],
])("from %i to %i are the statements %j", (from, to, expected) => {
  expect(chosen(PLACES, from, to).map((p) => PLACES.indexOf(p))).toEqual(expected);
});
