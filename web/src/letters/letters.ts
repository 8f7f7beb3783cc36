// Dead letters: records that queries could not read, and results that they could not write.
import { ask } from "../rest/request";

export interface Letter {
  id: string;
  query: string;
  topic: string;
  partition: number;
  offset: number;
  timestamp: number | null;
  reason: string;
  result?: boolean;
  copy_of?: string;
  cut?: string;
  key?: string | null;
  key_base64?: string;
  value?: string | null;
  value_base64?: string;
  headers: { name: string; value?: string | null; value_base64?: string }[];
  replayed: boolean;
}

export interface Group {
  query: string;
  topic: string;
  reason: string;
  count: number;
  replayed: number;
  first: number;
  last: number;
}

export interface Replayed {
  records: number;
  before: number;
  returned: number;
  cut: number;
}

export interface Choice {
  query?: string;
  topic?: string;
  reason?: string;
}

export async function summary(query: string | undefined, signal: AbortSignal): Promise<Group[]> {
  return (await ask<{ groups: Group[] }>("deadletters/summary", { body: query === undefined ? {} : { query }, signal })).groups;
}

export async function letters(choice: Choice, limit: number, signal: AbortSignal): Promise<Letter[]> {
  return (await ask<{ deadLetters: Letter[] }>("deadletters", { body: { ...choice, limit }, signal })).deadLetters;
}

/** Writes letters to where they came from, each once; without letters all that are chosen. */
export function replay(choice: Choice, chosen?: Letter[]): Promise<Replayed> {
  return ask("deadletters/replay", { body: { ...choice, ...(chosen && { letters: chosen }) } });
}

/** What was replayed, in a sentence. */
export function told({ records, before, returned, cut }: Replayed): string {
  const parts = [`${records} ${records === 1 ? "record was" : "records were"} written`];
  if (before > 0) parts.push(`${before} had been before`);
  if (returned > 0) parts.push(`${returned} came back and need a correction`);
  if (cut > 0) parts.push(`${cut} are cut and need a correction`);
  return parts.join(", ");
}
