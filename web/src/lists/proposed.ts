// A CREATE STREAM statement over a topic, by the formats that PRINT sees and the fields of its first records.
import { stream } from "../rest/rows";
import { literal } from "../text/names";
import { createStatement } from "./create";

const RECORDS = 20;
const PATIENCE = 8000;

/** Reads some records of a topic and proposes a statement, to be corrected by a person. A topic may have fewer records. */
export async function proposed(topic: string, outer: AbortSignal): Promise<string> {
  const enough = AbortSignal.timeout(PATIENCE);
  const lines: string[] = [];
  const takes = { columns: () => undefined, rows: (rows: unknown[][]) => void lines.push(...rows.map(([line]) => String(line))) };
  const statement = `PRINT ${literal(topic)} FROM BEGINNING LIMIT ${RECORDS};`;
  try {
    await stream(statement, { properties: {}, variables: {} }, takes, AbortSignal.any([outer, enough]));
  } catch (error) {
    if (!enough.aborted || outer.aborted) throw error;
  }
  return createStatement(topic, lines);
}
