// Numbers and times as the user's language and zone have them; — stands for what is not known.

export const UNKNOWN = "—";

export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : Math.round(value).toLocaleString();
}

/** Records a second. */
export function rate(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 });
}

/** A large number in few characters: 12K, 3.4M. */
export function compact(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return value.toLocaleString(undefined, { notation: "compact", maximumFractionDigits: 1 });
}

const UNITS = ["B", "KB", "MB", "GB", "TB"];

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return `${(value / 1024 ** power).toLocaleString(undefined, { maximumFractionDigits: power > 0 ? 1 : 0 })} ${UNITS[power]}`;
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  return value < 10_000 ? `${whole(value)} ms` : seconds(value / 1000);
}

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (value < 120) return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 ? 1 : 0 })} s`;
  if (value < 7200) return `${whole(value / 60)} min`;
  return value < 172_800 ? `${whole(value / 3600)} h` : `${whole(value / 86_400)} d`;
}
