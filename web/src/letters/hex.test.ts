import { expect, test } from "vitest";
import { bytesOf, hex, utf8 } from "./hex";

test("bytes in hex have their address and their characters", () => {
  expect(hex(new Uint8Array([0, 65, 255]))).toBe(`000000  00 41 ff${" ".repeat(39)}  .A.`);
  expect(hex(new Uint8Array(17)).split("\n")[1]).toMatch(/^000010 {2}00 /);
});

test("what is not UTF-8 is no text", () => {
  expect(utf8(bytesOf("Tromsø", undefined) ?? new Uint8Array())).toBe("Tromsø");
  expect(utf8(bytesOf(undefined, "/w==") ?? new Uint8Array())).toBeNull();
  expect(bytesOf(null, undefined)).toBeNull();
});
