// JSON whose numbers keep all their digits: a DECIMAL or a BIGINT is more than a number of JavaScript holds.
import { isLosslessNumber, parse, stringify, type LosslessNumber } from "lossless-json";

export type Json = null | boolean | number | string | LosslessNumber | Json[] | { [name: string]: Json };

const RISKY = /\d{16}|\d[.eE]|-0/;

/** The value of a JSON text; JavaScript's own, quicker parser is taken where no number can lose digits. */
export function parseDigits(text: string): Json {
  return (RISKY.test(text) ? parse(text) : JSON.parse(text)) as Json;
}

/** A value as JSON, with its digits. */
export function jsonText(value: Json, indent?: number): string {
  return stringify(value, undefined, indent) ?? "null";
}

/** A value as a cell shows it: strings without quotes. */
export function cellText(value: Json): string {
  if (typeof value === "string") return value;
  if (isLosslessNumber(value)) return value.value;
  return value === null || typeof value !== "object" ? String(value) : jsonText(value);
}
