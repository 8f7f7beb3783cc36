// What the answer to a statement says, as text and tables.
import type { Entity } from "../rest/statements";

export interface Shown {
  /** What was done, in one line. */
  message?: string;
  tables: Table[];
  /** A plan, or a statement. */
  text?: string;
}

export interface Table {
  title?: string;
  columns: string[];
  rows: string[][];
}

type Fields = Record<string, unknown>;

/** Fields of answers that say nothing to people. */
const LEFT_OUT = new Set(["@type", "statementText", "warnings", "plan", "executionPlan", "topology", "tasksMetadata", "statistics", "errorStats", "statement", "extended"]);

export function shown(entity: Entity): Shown {
  switch (entity["@type"]) {
    case "currentStatus": {
      const { message, queryId } = entity["commandStatus"] as { message: string; queryId: string | null };
      return { message: queryId && !message.includes(queryId) ? `${message} (query ${queryId})` : message, tables: [] };
    }
    case "warning_entity":
      return { message: String(entity["message"]), tables: [] };
    case "sourceDescription":
      return description(entity["sourceDescription"] as Fields);
    case "queryDescription":
      return description(entity["queryDescription"] as Fields);
    default:
      return listed(entity);
  }
}

function description(of: Fields): Shown {
  const fields = of["fields"] as { name: string; schema: Schema; type?: string }[];
  const columns: Table = {
    title: "Columns",
    columns: ["name", "type", "of"],
    rows: (fields ?? []).map((f) => [f.name, typeText(f.schema), f.type ?? ""]),
  };
  const { figures, ...rest } = of;
  const tables = [columns, properties(rest)];
  if (figures) tables.push({ ...properties(figures as Fields), title: "Figures" });
  const text = String(of["topology"] || of["statement"] || of["statementText"] || "");
  return { tables: tables.filter((t) => t.rows.length > 0), ...(text && { text }) };
}

function properties(of: Fields): Table {
  const rows = Object.entries(of)
    .filter(([name, value]) => !LEFT_OUT.has(name) && name !== "fields" && !isEmpty(value))
    .map(([name, value]) => [name, cell(value)]);
  return { columns: ["property", "value"], rows };
}

function isEmpty(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value as object).length === 0);
}

/** The lists of an answer, a table each. */
function listed(entity: Entity): Shown {
  const lists = Object.entries(entity).filter(([name, value]) => !LEFT_OUT.has(name) && Array.isArray(value)) as [string, unknown[]][];
  const tables = lists.map(([, list]) => tableOf(list)).filter((table) => table.columns.length > 0);
  if (tables.length > 0) return { tables };
  return lists.length > 0 ? { message: "There are none.", tables: [] } : { tables: [properties(entity)] };
}

function tableOf(list: unknown[]): Table {
  if (list.every((item) => typeof item === "string")) return { columns: list.length > 0 ? ["name"] : [], rows: list.map((item) => [String(item)]) };
  const objects = list.filter((item): item is Fields => typeof item === "object" && item !== null);
  const columns = [...new Set(objects.flatMap(Object.keys))].filter((name) => !LEFT_OUT.has(name));
  return { columns, rows: objects.map((o) => columns.map((name) => cell(o[name]))) };
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((v) => typeof v !== "object")) return value.join(", ");
  if (Array.isArray(value) && value.every(isNamed)) return value.map((v) => v.id ?? v.name).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Whether a value is an object that has a name: of queries in a description this says enough. */
function isNamed(value: unknown): value is { id?: string; name?: string } {
  return typeof value === "object" && value !== null && ("id" in value || "name" in value);
}

export interface Schema {
  type: string;
  fields: { name: string; schema: Schema }[] | null;
  memberSchema: Schema | null;
  parameters?: { precision: number; scale: number };
}

/** A type as it stands in statements. */
export function typeText({ type, fields, memberSchema, parameters }: Schema): string {
  if (fields) return `STRUCT<${fields.map((f) => `${f.name} ${typeText(f.schema)}`).join(", ")}>`;
  if (type === "MAP" && memberSchema) return `MAP<STRING, ${typeText(memberSchema)}>`;
  if (memberSchema) return `${type}<${typeText(memberSchema)}>`;
  return parameters ? `${type}(${parameters.precision}, ${parameters.scale})` : type;
}
