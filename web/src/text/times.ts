const FORM: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "medium" };

/** A time, ms since 1970, in the zone of the user. */
export function local(ms: number): string {
  return new Date(ms).toLocaleString(undefined, FORM);
}

/** The same in UTC, as ISO 8601 has it. */
export function utc(ms: number): string {
  return `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}
