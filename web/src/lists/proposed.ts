// A CREATE STREAM statement over a topic, by the formats that PRINT sees and the fields of its first records.
import { stream } from "../rest/rows";
import { literal } from "../text/names";
import { createStatement } from "./create";

const RECORDS = 20;
const PATIENCE = 8000;

/** Reads some records of a topic and proposes a statement, to be corrected by a person. */
export async function proposed(topic: string): Promise<string> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), PATIENCE);
  const lines: string[] = [];
  const takes = { columns: () => undefined, rows: (rows: unknown[][]) => void lines.push(...rows.map(([line]) => String(line))) };
  const statement = `PRINT ${literal(topic)} FROM BEGINNING LIMIT ${RECORDS};`;
  await stream(statement, { properties: {}, variables: {} }, takes, ending.signal).catch(() => undefined);
  clearTimeout(timer);
  return createStatement(topic, lines);
}
