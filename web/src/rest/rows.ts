// POST /query-stream: rows of push and pull queries, and the lines of PRINT.
import { parseDigits, type Json } from "./digits";
import { lines } from "./lines";
import { problemOf } from "./problem";
import { send } from "./request";
import type { Session } from "./statements";

export interface Column {
  name: string;
  type: string;
}

export interface Takes {
  columns(columns: Column[], queryId: string): void;
  /** `sizes`: the characters of each row. */
  rows(rows: Json[][], sizes: number[]): void;
}

const DELIMITED = "application/vnd.ksqlapi.delimited.v1";

/** Rows are shown five times a second: each on its way alone would only keep server and browser busy. */
const TOGETHER = { "ksqlpy.query.push.linger.ms": "100" };

/** Gives the rows of a query until it ends; raises Problem where it fails. `behind`: records that are still to be read. */
export async function stream(
  sql: string,
  { properties, variables: sessionVariables }: Session,
  takes: Takes,
  signal: AbortSignal,
): Promise<void> {
  const body = { sql, properties: { ...TOGETHER, ...properties }, sessionVariables };
  const answer = await send("query-stream", { body, accept: DELIMITED, signal });
  if (answer.body === null) return;
  const printed = answer.headers.get("x-query-id"); // PRINT has lines of text, and no header
  if (printed !== null) takes.columns([{ name: "Record", type: "" }], printed);
  for await (const batch of lines(answer.body)) {
    const [rows, sizes]: [Json[][], number[]] = [[], []];
    try {
      for (const line of batch) {
        const values = printed !== null ? record(line) : row(line, takes);
        if (values === null) continue;
        rows.push(values);
        sizes.push(line.length);
      }
    } finally {
      takes.rows(rows, sizes); // also those ahead of a line that says why there are no more
    }
  }
}

/** A line of PRINT, which begins with a word; its last one may say why there are no more. */
function record(line: string): Json[] {
  if (line.startsWith('{"@type":')) throw problemOf(JSON.parse(line), 200);
  return [line];
}

/** The values of a line; null of the one that names the columns. */
function row(line: string, takes: Takes): Json[] | null {
  const value = parseDigits(line);
  if (Array.isArray(value)) return value;
  const told = value as { queryId?: string; columnNames?: string[]; columnTypes?: string[]; "@type"?: string };
  if (told["@type"] !== undefined) throw problemOf(told, 200);
  if (told.columnNames !== undefined) {
    takes.columns(
      told.columnNames.map((name, i) => ({ name, type: told.columnTypes?.[i] ?? "" })),
      told.queryId ?? "",
    );
  }
  return null;
}
