import { expect, test } from "vitest";
import { csv, jsonLines } from "./export";
import { Ring } from "./ring";
import { parseDigits, type Json } from "../rest/digits";

test("a ring keeps the last ones, in their order", () => {
  const ring = new Ring<number>(3);
  for (const n of [1, 2, 3, 4, 5]) ring.add(n);
  expect(ring.all()).toEqual([3, 4, 5]);
  expect([ring.at(0), ring.at(2)]).toEqual([3, 5]);
  expect([ring.added, ring.lost, ring.length]).toEqual([5, 2, 3]);
  expect([0, 1, 2, 3, 4].map((from) => ring.all(from))).toEqual([[3, 4, 5], [4, 5], [5], [], []]);
  ring.add(6);
  expect([0, 1, 2, 3].map((from) => ring.all(from))).toEqual([[4, 5, 6], [5, 6], [6], []]);
  expect(new Ring<number>(3).all()).toEqual([]);
});

test("rows as CSV and as JSON keep digits, quotes and nulls", () => {
  const columns = [{ name: "A", type: "STRING" }, { name: "B", type: "DECIMAL(20, 2)" }];
  const rows = [{ number: 1, values: parseDigits('["x,\\"y\\"",12345678901234567.10]') as Json[] }, { number: 2, values: [null, ""] }];
  expect(csv(columns, rows)).toBe('A,B\r\n"x,""y""",12345678901234567.10\r\n,""\r\n');
  expect(jsonLines(columns, rows)).toBe('{"A":"x,\\"y\\"","B":12345678901234567.10}\n{"A":null,"B":""}\n');
});
