/** A value by which rows are sorted; null comes last in both directions. */
export type Key = string | number | null | undefined;

export interface Sorted {
  column: string;
  down: boolean;
}

/** Rows by a key; names with numbers as people count: Q_2 before Q_10. */
export function sorted<T>(rows: readonly T[], key: (row: T) => Key, down: boolean): T[] {
  const sign = down ? -1 : 1;
  return rows.toSorted((a, b) => compare(key(a), key(b), sign));
}

function compare(a: Key, b: Key, sign: number): number {
  const none = (k: Key): k is null | undefined => k === null || k === undefined;
  if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
}
