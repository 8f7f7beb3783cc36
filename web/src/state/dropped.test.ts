import { expect, test } from "vitest";
import { dropped } from "./dropped";
import type { Query, Source } from "./graph.svelte";

const source = (name: string, query: string | null = null) => ({ name, query }) as Source;
const query = (name: string, sink: string, ...sources: string[]) => ({ name, sink, sources }) as Query;

test("what is made from a source goes with it, the last first", () => {
  const sources = [source("A"), source("B", "AB"), source("C", "BC"), source("D")];
  const queries = [query("AB", "B", "A"), query("BC", "C", "B"), query("INS", "D", "C"), query("X", "D", "D")];
  const goes = dropped(sources[0] as Source, sources, queries);
  expect(goes.sources.map((s) => s.name)).toEqual(["C", "B"]);
  expect(goes.queries.map((q) => q.name)).toEqual(["AB", "BC", "INS"]);
  expect(dropped(sources[2] as Source, sources, queries).queries.map((q) => q.name)).toEqual(["BC", "INS"]);
});
