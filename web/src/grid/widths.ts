import { cellText } from "../rest/digits";
import type { Column } from "../rest/rows";
import type { Row } from "./rows.svelte";

const SHORTEST = 8;
const LONGEST = 48;

/** Widths of columns, in characters, by their titles and the rows that are there. */
export function widths(columns: Column[], rows: Row[]): number[] {
  const sample = rows.slice(-50);
  return columns.map(({ name, type }, i) => {
    const shown = sample.map((row) => Math.min(LONGEST, cellText(row.values[i] ?? null).length));
    return Math.min(LONGEST, Math.max(SHORTEST, name.length, Math.min(24, type.length), ...shown)) + 2;
  });
}
