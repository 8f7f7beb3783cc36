// POST /ksql, /check and /complete.
import { Problem } from "./problem";
import { ask } from "./request";

/** What SET and DEFINE have changed. */
export interface Session {
  properties: Record<string, string>;
  variables: Record<string, string>;
}

export interface Entity {
  "@type": string;
  statementText?: string;
  warnings?: { message: string }[];
  [name: string]: unknown;
}

export interface Diagnostic {
  start: number;
  end: number;
  line: number;
  column: number;
  severity: "error" | "warning";
  code: string;
  message: string;
  hint: string | null;
}

export interface Place {
  start: number;
  end: number;
  kind: "statement" | "push" | "pull" | "print" | "session" | "script" | "unreadable";
  name: string;
}

export interface Checked {
  diagnostics: Diagnostic[];
  statements: Place[];
}

export interface Call {
  name: string;
  signatures: { label: string; parameters: string[] }[];
  active: number;
  doc: string | null;
}

export interface Completed {
  from: number;
  options: { label: string; type: string; detail: string | null; apply?: string }[];
  signature: Call | null;
}

/** Runs statements that are no queries for rows. */
export function run(ksql: string, { properties, variables }: Session, signal?: AbortSignal): Promise<Entity[]> {
  const body = { ksql, streamsProperties: properties, sessionVariables: variables };
  return ask<Entity[]>("ksql", { body, ...(signal && { signal }) });
}

/** Runs one statement of the page's own, without the properties of an editor's tab. */
export async function runOne<T extends Entity>(ksql: string, signal?: AbortSignal): Promise<T> {
  const [entity] = await run(ksql, { properties: {}, variables: {} }, signal);
  if (entity === undefined) throw new Problem("the server has told nothing", "page", 200);
  return entity as T;
}

export function check(text: string, session: Session, signal?: AbortSignal): Promise<Checked> {
  return ask<Checked>("check", { body: { text, ...session }, ...(signal && { signal }) });
}

export function complete(text: string, offset: number, session: Session, signal?: AbortSignal): Promise<Completed> {
  const body = { text, offset, variables: session.variables };
  return ask<Completed>("complete", { body, ...(signal && { signal }) });
}
