import { expect, test } from "vitest";
import { shown, typeText } from "./entities";

test("what was done is one line, with its query", () => {
  const entity = { "@type": "currentStatus", commandStatus: { message: "Stream created", queryId: "CSAS_S_1" } };
  expect(shown(entity)).toEqual({ message: "Stream created (query CSAS_S_1)", tables: [] });
});

test("a list is a table, and an empty one says so", () => {
  const entity = { "@type": "streams", warnings: [], streams: [{ name: "S", isWindowed: false }, { name: "T", isWindowed: true }] };
  expect(shown(entity).tables).toEqual([{ columns: ["name", "isWindowed"], rows: [["S", "false"], ["T", "true"]] }]);
  expect(shown({ "@type": "streams", streams: [] }).message).toBe("There are none.");
});

test("a description has columns, properties and a statement; queries stand by their names", () => {
  const decimal = { type: "DECIMAL", fields: null, memberSchema: null, parameters: { precision: 6, scale: 2 } };
  const sourceDescription = { name: "S", fields: [{ name: "F", schema: decimal, type: "KEY" }], readQueries: [{ id: "Q_1" }, { id: "Q_2" }], statement: "CREATE …" };
  const { tables, text } = shown({ "@type": "sourceDescription", sourceDescription });
  expect(tables[0]?.rows).toEqual([["F", "DECIMAL(6, 2)", "KEY"]]);
  expect(tables[1]?.rows).toEqual([["name", "S"], ["readQueries", "Q_1, Q_2"]]);
  expect(text).toBe("CREATE …");
});

test("types are those of statements", () => {
  const simple = (type: string) => ({ type, fields: null, memberSchema: null });
  const struct = { type: "STRUCT", fields: [{ name: "X", schema: simple("INTEGER") }], memberSchema: null };
  expect(typeText({ type: "ARRAY", fields: null, memberSchema: struct })).toBe("ARRAY<STRUCT<X INTEGER>>");
  expect(typeText({ type: "MAP", fields: null, memberSchema: simple("STRING") })).toBe("MAP<STRING, STRING>");
});
