import { expect, test } from "vitest";
import { isTime, utc } from "./times";

test("a time in UTC", () => expect(utc(1764504000123)).toBe("2025-11-30 12:00:00.123 UTC"));

test.each([
  [0, true],
  [-1, true],
  [8_640_000_000_000_000, true],
  [9_223_372_036_854_775_807, false],
  [Number.NaN, false],
])("%d is a time: %s", (ms, is) => expect(isTime(ms)).toBe(is));
