import { expect, test } from "vitest";
import { cellText, jsonText, parseDigits } from "./digits";

test.each([
  ['"Oslo"', "Oslo"],
  ["9007199254740993", "9007199254740993"],
  ["-9223372036854775808", "-9223372036854775808"],
  ["12345678901234567890.50", "12345678901234567890.50"],
  ["7.00", "7.00"],
  ["1.0E-7", "1.0E-7"],
  ["null", "null"],
  ["true", "true"],
  ['{"a":[1.10,9007199254740993]}', '{"a":[1.10,9007199254740993]}'],
])("%s is shown as %s", (json, shown) => expect(cellText(parseDigits(json))).toBe(shown));

test("what is parsed is written with the same digits", () => {
  const row = '[1,9007199254740993,0.10,"1.10",null]';
  expect(jsonText(parseDigits(row))).toBe(row);
});
