// What of the graph is folded away, so that a large one is read part by part.
import type { Edge, Node } from "../state/graph.svelte";

/** Nodes whose names have a text, drawn as one. */
export interface Group {
  id: string;
  kind: "group";
  name: string;
  members: Node[];
}

/** What is drawn as a box. */
export type Shown = Node | Group;

/** An edge that is drawn. `of`: the edges of the graph that it stands for, where one of its ends is a group. */
export interface Link extends Edge {
  of?: Edge[];
}

export interface Part {
  nodes: Shown[];
  edges: Link[];
}

/** What is folded away at a node: what leads to it, or what comes from it. */
export interface Fold {
  id: string;
  way: "to" | "from";
}

/** What leads to a node, or comes from it, without itself. */
export function reached(edges: Edge[], id: string, way: Fold["way"]): Set<string> {
  const [here, there] = way === "to" ? (["to", "from"] as const) : (["from", "to"] as const);
  const next = new Map<string, string[]>();
  for (const e of edges) next.set(e[here], [...(next.get(e[here]) ?? []), e[there]]);
  const found = new Set([id]);
  for (const one of found) for (const other of next.get(one) ?? []) found.add(other); // the loop goes on with them
  found.delete(id);
  return found;
}

/** What a fold hides: nodes that lead to this node only, or come from it only. Others are there for other nodes, too. */
export function hiddenBy(edges: Edge[], { id, way }: Fold): Set<string> {
  const found = reached(edges, id, way);
  const [here, there] = way === "to" ? (["to", "from"] as const) : (["from", "to"] as const);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const e of edges) if (e[here] !== id && !found.has(e[here])) found.delete(e[there]);
  }
  return found;
}

export interface Folded extends Part {
  /** How many nodes are hidden. */
  hidden: number;
  /** How many each node that is shown hides, by its id. */
  counts: Map<string, { to?: number; from?: number }>;
}

/** A part without what is folded away; a fold that would hide `seen` does not count. */
export function folded({ nodes, edges }: Part, folds: Fold[], seen?: string): Folded {
  const there = new Set(nodes.map((n) => n.id));
  const hides = folds
    .filter((fold) => there.has(fold.id))
    .map((fold) => ({ fold, hidden: hiddenBy(edges, fold) }))
    .filter(({ hidden }) => hidden.size > 0 && (seen === undefined || !hidden.has(seen)));
  const gone = new Set(hides.flatMap(({ hidden }) => [...hidden]));
  const counts: Folded["counts"] = new Map();
  for (const { fold, hidden } of hides) {
    if (!gone.has(fold.id)) counts.set(fold.id, { ...counts.get(fold.id), [fold.way]: hidden.size });
  }
  return {
    nodes: nodes.filter((n) => !gone.has(n.id)),
    edges: edges.filter((e) => !gone.has(e.from) && !gone.has(e.to)),
    hidden: gone.size,
    counts,
  };
}

export function groupId(text: string): string {
  return `group:${text}`;
}

/** Whether a name has a text, as the search finds it. */
export function has(name: string, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}

/** A part with the nodes whose names have a text as one; no change where there are fewer than two, or one is `seen`. */
export function grouped({ nodes, edges }: Part, text: string, seen?: string): Part {
  const members = nodes.filter((n): n is Node => n.kind !== "group" && has(n.name, text));
  const inside = new Set(members.map((n) => n.id));
  if (members.length < 2 || (seen !== undefined && inside.has(seen))) return { nodes, edges };
  const group: Group = { id: groupId(text), kind: "group", name: text, members };
  const links = new Map<string, Link>();
  for (const edge of edges) {
    const [from, to] = [edge.from, edge.to].map((id) => (inside.has(id) ? group.id : id)) as [string, string];
    if (from === group.id && to === group.id) continue;
    if (from === edge.from && to === edge.to) {
      links.set(`${from}\n${to}`, edge);
      continue;
    }
    const known = links.get(`${from}\n${to}`);
    links.set(`${from}\n${to}`, { from, to, of: [...(known?.of ?? []), ...(edge.of ?? [edge])] });
  }
  return { nodes: [...nodes.filter((n) => !inside.has(n.id)), group], edges: [...links.values()] };
}
