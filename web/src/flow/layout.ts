// Where the nodes of the graph stand, by dagre; and which of them are shown.
import dagre from "@dagrejs/dagre";
import { reached, type Link, type Part, type Shown } from "./fold";

export interface Placed {
  node: Shown;
  x: number;
  y: number;
}

export interface Drawn extends Link {
  points: { x: number; y: number }[];
}

export interface Layout {
  nodes: Placed[];
  edges: Drawn[];
  width: number;
  height: number;
}

/** How long the last layout took, for those who measure it. */
const MEASURE = "flow layout";

export const WIDTH = 190;
export const HEIGHT = 44;

export function layout({ nodes, edges }: Part): Layout {
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "LR", nodesep: 16, ranksep: 56, marginx: 16, marginy: 16, ranker: nodes.length > 150 ? "longest-path" : "network-simplex" });
  g.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) g.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const { from, to } of edges) g.setEdge(from, to);
  const began = performance.now();
  dagre.layout(g);
  performance.clearMeasures(MEASURE);
  performance.measure(MEASURE, { start: began });
  const { width = 0, height = 0 } = g.graph();
  return {
    nodes: nodes.map((node) => ({ node, x: g.node(node.id).x, y: g.node(node.id).y })),
    edges: edges.map((edge) => ({ ...edge, points: g.edge(edge.from, edge.to).points })),
    width,
    height,
  };
}

/** Without the nodes for which `out` holds; what led to them leads on to what they led to. */
export function without({ nodes, edges }: Part, out: (node: Shown) => boolean): Part {
  const gone = new Set(nodes.filter(out).map((n) => n.id));
  let left = edges;
  for (const id of gone) {
    const into = left.filter((e) => e.to === id && e.from !== id);
    const from = left.filter((e) => e.from === id && e.to !== id);
    const through = into.flatMap((a) => from.map((b) => ({ from: a.from, to: b.to })));
    left = [...left.filter((e) => e.from !== id && e.to !== id), ...through];
  }
  const unlike = new Map(left.map((e) => [`${e.from}\n${e.to}`, e]));
  return { nodes: nodes.filter((n) => !gone.has(n.id)), edges: [...unlike.values()] };
}

/** What leads to a node, and what it leads to. */
export function around({ nodes, edges }: Part, id: string): Part {
  const found = new Set([id, ...reached(edges, id, "to"), ...reached(edges, id, "from")]);
  return { nodes: nodes.filter((n) => found.has(n.id)), edges: edges.filter((e) => found.has(e.from) && found.has(e.to)) };
}

/** A smooth line through the points of an edge, as SVG's path. */
export function path(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let d = `M${first.x},${first.y}`;
  rest.forEach((p, i) => {
    const before = points[i] ?? first;
    const middle = (before.x + p.x) / 2;
    d += ` C${middle},${before.y} ${middle},${p.y} ${p.x},${p.y}`;
  });
  return d;
}
