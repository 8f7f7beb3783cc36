// What would change on the server so that it has what files of statements say: POST /plan and /plan/apply.
import type { Problem } from "../rest/problem";
import { ask } from "../rest/request";

export interface Change {
  action: "create" | "replace" | "remake" | "remove" | "keep";
  kind: string;
  name: string;
  reason: string;
  losesState: boolean;
  diff: string[];
}

export interface Fault {
  file: string;
  line: number;
  column: number;
  severity: string;
  code: string;
  message: string;
  hint: string | null;
}

export interface Plan {
  id: string;
  changes: Change[];
  notInProject: { kind: string; name: string }[];
  losesState: boolean;
  errors: Fault[];
  summary: string;
}

export interface Project {
  files?: { name: string; sql: string }[];
  folder?: string;
  prune: boolean;
}

export function plan(project: Project, signal?: AbortSignal): Promise<Plan> {
  return ask("plan", { body: project, ...(signal && { signal }) });
}

/** The statements of a plan that were done ahead of the one that has failed. */
export function doneBefore({ answer }: Problem): string[] {
  const entities = (answer as { entities?: { "@type"?: string; statementText?: string }[] } | null)?.entities ?? [];
  return entities.flatMap((e) => (e["@type"] === "done" && e.statementText ? [e.statementText] : []));
}

/** What a plan would change. */
export function changesOf({ changes }: Plan): Change[] {
  return changes.filter((c) => c.action !== "keep");
}

/** Does what a plan says; nothing where server or files have changed since. */
export function apply(project: Project, { id, losesState }: Plan): Promise<{ done: string[] }> {
  return ask("plan/apply", { body: { ...project, id, losesState } });
}
