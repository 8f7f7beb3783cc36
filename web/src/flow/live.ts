// What the lines and boxes of the flow show of the figures of a moment.
import type { QueryFigures, TopicFigures } from "../state/figures.svelte";
import { grows } from "../state/merge";
import type { Node } from "../state/graph.svelte";
import type { Link, Shown } from "./fold";

interface Known {
  queries: Record<string, QueryFigures>;
  topics: Record<string, TopicFigures>;
  trails: Record<string, { rates: number[]; lags: number[] }>;
}

/** Records a second that go along an edge; null: not known. */
export function rateOf(from: Node, to: Node, { queries, topics }: Known): number | null {
  if (to.kind === "query") {
    const topic = from.kind === "topic" ? from.name : from.kind === "query" ? "" : from.topic;
    return queries[to.name]?.readRates?.[topic] ?? null;
  }
  if (from.kind === "query") return queries[from.name]?.outRate ?? null;
  return from.kind === "topic" ? (topics[from.name]?.readRate ?? null) : null;
}

/** Records a second that go along an edge that is drawn: of a group those of all its edges. `nodes`: those of the graph. */
export function flowOf(link: Link, nodes: Map<string, Node>, known: Known): number | null {
  const rates = (link.of ?? [link]).map(({ from, to }) => {
    const [source, target] = [nodes.get(from), nodes.get(to)];
    return source && target ? rateOf(source, target, known) : null;
  });
  const told = rates.filter((rate) => rate !== null);
  return told.length > 0 ? told.reduce((a, b) => a + b, 0) : null;
}

/** The width of a line, in pixels: 1 for nothing, 2 more for ten times as much. */
export function widthOf(rate: number | null): number {
  return 1 + 2 * Math.log10(1 + (rate ?? 0));
}

/** Whether an edge leads to a query whose lag grows, also to one within a group. */
export function isBehind(link: Link, nodes: Map<string, Node>, { trails }: Known): boolean {
  return (link.of ?? [link]).some(({ to }) => {
    const node = nodes.get(to);
    return node?.kind === "query" && grows(trails[node.name]?.lags ?? []);
  });
}

export type Mood = "good" | "warn" | "bad" | "";

const WORST: Mood[] = ["bad", "warn", "good"];

/** The state that colours a node; that of a group is the worst of its queries. */
export function moodOf(node: Shown, known: Known): Mood {
  if (node.kind === "group") {
    const moods = new Set(node.members.map((member) => moodOf(member, known)));
    return WORST.find((mood) => moods.has(mood)) ?? "";
  }
  if (node.kind !== "query") return "";
  const { queries, trails } = known;
  const state = queries[node.name]?.state ?? node.state;
  if (["ERROR", "RETRYING", "STOPPED"].includes(state)) return "bad";
  if (state !== "RUNNING" || grows(trails[node.name]?.lags ?? [])) return "warn";
  return "good";
}
