// What the lines and boxes of the flow show of the figures of a moment.
import type { QueryFigures, TopicFigures } from "../state/figures.svelte";
import { grows } from "../state/merge";
import type { Node } from "../state/graph.svelte";

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

/** The width of a line, in pixels: 1 for nothing, 2 more for ten times as much. */
export function widthOf(rate: number | null): number {
  return 1 + 2 * Math.log10(1 + (rate ?? 0));
}

/** Whether an edge leads to a query whose lag grows. */
export function isBehind(to: Node, { trails }: Known): boolean {
  return to.kind === "query" && grows(trails[to.name]?.lags ?? []);
}

/** The state that colours a node. */
export function moodOf(node: Node, { queries, trails }: Known): "good" | "warn" | "bad" | "" {
  if (node.kind !== "query") return "";
  const state = queries[node.name]?.state ?? node.state;
  if (["ERROR", "RETRYING", "STOPPED"].includes(state)) return "bad";
  if (state !== "RUNNING" || grows(trails[node.name]?.lags ?? [])) return "warn";
  return "good";
}
