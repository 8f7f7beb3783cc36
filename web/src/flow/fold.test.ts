import { expect, test } from "vitest";
import type { Node } from "../state/graph.svelte";
import { folded, grouped, hiddenBy, type Fold } from "./fold";
import { flowOf } from "./live";

const node = (id: string): Node => ({ id, kind: id.startsWith("q") ? "query" : "stream", name: id }) as Node;
const edges = (...pairs: string[]) => pairs.map((pair) => ({ from: pair.split(">")[0] as string, to: pair.split(">")[1] as string }));

// rides and zones are joined; zones are read by another query, too.
const PART = {
  nodes: ["rides", "zones", "q1", "both", "q2", "far", "q3", "places"].map(node),
  edges: edges("rides>q1", "zones>q1", "q1>both", "both>q2", "q2>far", "zones>q3", "q3>places"),
};

test.each<[Fold, string[]]>([
  [{ id: "both", way: "to" }, ["q1", "rides"]], // zones lead to places, too
  [{ id: "both", way: "from" }, ["far", "q2"]],
  [{ id: "zones", way: "from" }, ["places", "q3"]], // q1 comes from rides, too
  [{ id: "rides", way: "to" }, []],
])("%j hides %j", (fold, hidden) => expect([...hiddenBy(PART.edges, fold)].sort()).toEqual(hidden));

test("what is folded away is counted where it was", () => {
  const seen = folded(PART, [{ id: "both", way: "to" }, { id: "both", way: "from" }]);
  expect(seen.nodes.map((n) => n.id)).toEqual(["zones", "both", "q3", "places"]);
  expect(seen.edges).toEqual(edges("zones>q3", "q3>places"));
  expect(seen.hidden).toBe(4);
  expect(seen.counts.get("both")).toEqual({ to: 2, from: 2 });
});

test("a fold within a fold is not seen, and what is looked at is never hidden", () => {
  const folds: Fold[] = [{ id: "both", way: "to" }, { id: "far", way: "to" }];
  expect([...folded(PART, folds).counts.keys()]).toEqual(["far"]);
  expect(folded(PART, folds, "both").nodes.map((n) => n.id)).toContain("both");
  expect(folded(PART, [{ id: "gone", way: "to" }]).hidden).toBe(0);
});

test("a loop has an end", () => {
  const loop = edges("a>q1", "q1>a", "b>q1");
  expect([...hiddenBy(loop, { id: "a", way: "to" })].sort()).toEqual(["b", "q1"]);
});

test("nodes with a text in their names are one, with the edges of all", () => {
  const one = grouped(PART, "Q");
  expect(one.nodes.map((n) => n.id)).toEqual(["rides", "zones", "both", "far", "places", "group:Q"]);
  expect(one.edges.map((e) => `${e.from} ${e.to} ${e.of?.length}`)).toEqual([
    "rides group:Q 1",
    "zones group:Q 2",
    "group:Q both 1",
    "both group:Q 1",
    "group:Q far 1",
    "group:Q places 1",
  ]);
  expect(grouped(PART, "far").nodes.length).toBe(8); // one alone is no group
  expect(grouped(PART, "q", "q2").nodes.length).toBe(8);
  const two = grouped(one, "r");
  expect(two.edges.map((e) => `${e.from} ${e.to} ${e.of?.length}`)).toContain("group:r group:Q 1");
});

test("through an edge of a group flows what flows through its edges", () => {
  const zones = { ...node("zones"), topic: "z" } as Node;
  const nodes = new Map([zones, node("q1"), node("q3")].map((n) => [n.id, n]));
  const figures = { q1: { readRates: { z: 2 } }, q3: { readRates: { z: 3 } } } as never;
  const known = { queries: figures, topics: {}, trails: {} };
  expect(flowOf({ from: "zones", to: "group:q", of: edges("zones>q1", "zones>q3") }, nodes, known)).toBe(5);
  expect(flowOf({ from: "zones", to: "q1" }, nodes, known)).toBe(2);
  expect(flowOf({ from: "q1", to: "nowhere" }, nodes, known)).toBeNull();
});
