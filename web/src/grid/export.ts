import { cellText, jsonText, type Json } from "../rest/digits";
import type { Column } from "../rest/rows";
import type { Row } from "./rows.svelte";

/** Rows as CSV (RFC 4180), with a line of titles; null is nothing. */
export function csv(columns: Column[], rows: Row[]): string {
  const lines = [columns.map((c) => field(c.name)), ...rows.map(({ values }) => values.map((v) => (v === null ? "" : field(cellText(v)))))];
  return lines.map((line) => line.join(",") + "\r\n").join("");
}

function field(text: string): string {
  return /[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows as lines of JSON objects. */
export function jsonLines(columns: Column[], rows: Row[]): string {
  return rows.map(({ values }) => `${object(columns, values)}\n`).join("");
}

function object(columns: Column[], values: Json[]): string {
  return `{${columns.map((c, i) => `${JSON.stringify(c.name)}:${jsonText(values[i] ?? null)}`).join(",")}}`;
}

/** Has the browser save a text as a file. */
export function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const a = Object.assign(document.createElement("a"), { href: address, download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
