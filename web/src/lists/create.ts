// A CREATE STREAM statement by what PRINT says of a topic.
import { isLosslessNumber } from "lossless-json";
import { parseDigits, type Json } from "../rest/digits";
import { literal, quoted } from "../text/names";

/** The statement for lines of PRINT. */
export function createStatement(topic: string, lines: string[]): string {
  const format = (what: string): string | undefined =>
    lines.find((l) => l.startsWith(`${what} format: `))?.slice(`${what} format: `.length).split(/ or |,/)[0]?.trim();
  const key = keyOf(format("Key"));
  const value = format("Value") ?? "JSON";
  const columns = value === "JSON" ? fields(lines) : [];
  const shown = [...(key ? [`k ${key.type} KEY`] : []), ...columns.map(([name, type]) => `${columnName(name)} ${type}`)];
  const formats = `${key ? `KEY_FORMAT = '${key.format}', ` : ""}VALUE_FORMAT = '${known(value)}'`;
  const body = shown.length > 0 ? ` (\n  ${shown.join(",\n  ")}\n)` : "";
  return `-- Proposed from the first records of the topic: correct names and types.\nCREATE STREAM ${streamName(topic)}${body}\n  WITH (KAFKA_TOPIC = ${literal(topic)}, ${formats});\n`;
}

function keyOf(told: string | undefined): { format: string; type: string } | null {
  const types: Record<string, string> = { KAFKA_INT: "INT", KAFKA_BIGINT: "BIGINT", KAFKA_DOUBLE: "DOUBLE", KAFKA_STRING: "STRING" };
  const type = told && types[told];
  if (type) return { format: "KAFKA", type };
  return told === "JSON" ? { format: "JSON", type: "STRING" } : null;
}

function known(format: string): string {
  return format.startsWith("KAFKA") ? "KAFKA" : format;
}

/** The fields of the objects in lines of PRINT, each with its type. */
function fields(lines: string[]): [string, string][] {
  const found = new Map<string, string>();
  for (const line of lines) {
    const text = /value: (\{.*\})(?:, partition: \d+.*)?$/.exec(line)?.[1];
    if (text === undefined) continue;
    try {
      for (const [name, value] of Object.entries(parseDigits(text) as Record<string, Json>)) found.set(name, wider(found.get(name), typeOf(value)));
    } catch {
      // no JSON
    }
  }
  return [...found].map(([name, type]) => [name, type === "" ? "STRING" : type]);
}

const LARGEST = 2n ** 63n - 1n;

function typeOf(value: Json): string {
  if (value === null) return "";
  if (isLosslessNumber(value)) {
    const { value: digits } = value;
    if (!/^-?\d+$/.test(digits)) return "DOUBLE"; // also 7.00: other records have 7.50
    const whole = BigInt(digits);
    return whole <= LARGEST && whole >= -LARGEST - 1n ? "BIGINT" : "DECIMAL(38, 0)";
  }
  if (typeof value === "boolean") return "BOOLEAN";
  if (typeof value === "number") return Number.isInteger(value) ? "BIGINT" : "DOUBLE";
  if (typeof value === "string") return "STRING";
  if (Array.isArray(value)) return `ARRAY<${value.map(typeOf).reduce(wider, "") || "STRING"}>`;
  const inner = Object.entries(value).map(([name, v]) => `${columnName(name)} ${typeOf(v) || "STRING"}`);
  return inner.length > 0 ? `STRUCT<${inner.join(", ")}>` : "MAP<STRING, STRING>";
}

/** A type that holds the values of both. */
function wider(a: string | undefined, b: string): string {
  if (!a || a === b) return b || (a ?? "");
  if (b === "") return a;
  const both = new Set([a, b]);
  if (both.has("BIGINT") && both.has("DOUBLE")) return "DOUBLE";
  return both.has("BIGINT") && both.has("DECIMAL(38, 0)") ? "DECIMAL(38, 0)" : "STRING";
}

/** JSON fields are found whatever the case of their letters. */
function columnName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? quoted(name.toUpperCase()) : quoted(name);
}

function streamName(topic: string): string {
  const name = topic.replace(/\W+/g, "_");
  return quoted((/^\d/.test(name) ? `T_${name}` : name).toUpperCase());
}
