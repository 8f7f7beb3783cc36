import { expect, test } from "vitest";
import { around, layout, without } from "./layout";
import type { Node } from "../state/graph.svelte";

const node = (id: string): Node => ({ id, kind: id.startsWith("t") ? "topic" : "stream", name: id }) as Node;
const PART = {
  nodes: ["t1", "a", "q", "t2", "b", "x"].map(node),
  edges: [["t1", "a"], ["a", "q"], ["q", "t2"], ["t2", "b"]].map(([from, to]) => ({ from: from as string, to: to as string })),
};

test("edges go on through what is left out", () => {
  const { nodes, edges } = without(PART, (n) => n.kind === "topic");
  expect(nodes.map((n) => n.id)).toEqual(["a", "q", "b", "x"]);
  expect(edges).toEqual([{ from: "a", to: "q" }, { from: "q", to: "b" }]);
});

test("around a node is what leads to it and what it leads to", () => {
  expect(around(PART, "q").nodes.map((n) => n.id)).toEqual(["t1", "a", "q", "t2", "b"]);
  expect(around(PART, "x").nodes.map((n) => n.id)).toEqual(["x"]);
});

test("nodes stand from left to right, and do not cover one another", () => {
  const { nodes, edges, width } = layout(PART);
  const x = Object.fromEntries(nodes.map((p) => [p.node.id, p.x]));
  expect(PART.edges.every((e) => (x[e.from] ?? 0) < (x[e.to] ?? 0))).toBe(true);
  expect(edges.every((e) => e.points.length > 1)).toBe(true);
  expect(width).toBeGreaterThan(0);
});

test("a loop of queries has an end", () => {
  const loop = [{ from: "a", to: "q" }, { from: "q", to: "a" }];
  expect(around({ nodes: PART.nodes, edges: loop }, "a").nodes.length).toBe(2);
  expect(layout({ nodes: [node("a"), node("q")], edges: loop }).edges.length).toBe(2);
});
