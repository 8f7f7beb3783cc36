const FORM: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "medium" };

/** Whether ms since 1970 are a time that a calendar has: a record of Kafka may have any number as its timestamp. */
export function isTime(ms: number): boolean {
  return !Number.isNaN(new Date(ms).getTime());
}

/** A time, ms since 1970, in the zone of the user. */
export function local(ms: number): string {
  return new Date(ms).toLocaleString(undefined, FORM);
}

/** The same in UTC, as ISO 8601 has it. */
export function utc(ms: number): string {
  return `${new Date(ms).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

/** A time of today, without the day. */
export function time(ms: number): string {
  return new Date(ms).toLocaleTimeString();
}
