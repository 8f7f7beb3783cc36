import { expect, test } from "vitest";
import { bytes, milliseconds, seconds } from "./numbers";

test("sizes and times have units that people read", () => {
  expect([0, 1023, 1024, 1.5 * 1024 ** 3].map(bytes)).toEqual(["0 B", "1,023 B", "1 KB", "1.5 GB"]);
  expect([12, 15_000].map(milliseconds)).toEqual(["12 ms", "15 s"]);
  expect([0.12, 600, 7200, 200_000].map(seconds)).toEqual(["0.1 s", "10 min", "2 h", "2 d"]);
  expect([null, undefined].map(bytes)).toEqual(["—", "—"]);
});
