// Topics, sources and queries, and what flows between them: GET /graph.
import { asProblem, type Problem } from "../rest/problem";
import { ask } from "../rest/request";

export type Right = "SELECT" | "INSERT" | "CREATE" | "ALTER" | "DROP" | "OPERATE";

export interface Topic {
  id: string;
  kind: "topic";
  name: string;
  partitions: number | null;
  internal: boolean;
  rights: Right[];
}

export interface Source {
  id: string;
  kind: "stream" | "table";
  name: string;
  topic: string;
  keyFormat: string;
  valueFormat: string;
  window: { type: string; sizeMs: number | null } | null;
  query: string | null;
  readOnly: boolean;
  statement: string;
  rights: Right[];
}

export interface Query {
  id: string;
  kind: "query";
  name: string;
  state: string;
  sink: string;
  sources: string[];
  statement: string;
  error: string | null;
  operate: boolean;
}

export type Node = Topic | Source | Query;

export interface Edge {
  from: string;
  to: string;
}

interface Answer {
  version: string;
  nodes: Node[];
  edges: Edge[];
}

/** Queries by the names of sources. */
function bySource(queries: Query[], names: (query: Query) => string[]): Map<string, Query[]> {
  const found = new Map<string, Query[]>();
  for (const query of queries) for (const name of new Set(names(query))) found.set(name, [...(found.get(name) ?? []), query]);
  return found;
}

class Graph {
  nodes = $state.raw<Node[]>([]);
  edges = $state.raw<Edge[]>([]);
  version = $state("");
  loaded = $state(false);
  problem = $state.raw<Problem | null>(null);
  readonly sources = $derived(this.nodes.filter((n): n is Source => n.kind === "stream" || n.kind === "table"));
  readonly queries = $derived(this.nodes.filter((n): n is Query => n.kind === "query"));
  readonly topics = $derived(this.nodes.filter((n): n is Topic => n.kind === "topic"));
  readonly #readers = $derived(bySource(this.queries, (q) => q.sources));
  readonly #writers = $derived(bySource(this.queries, (q) => [q.sink]));
  #loading: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  /** Asks anew. While it asks already it asks once more behind that: the answer that comes may be from before a change. */
  load(): Promise<void> {
    if (this.#loading === null) return (this.#loading = this.#load().finally(() => (this.#loading = null)));
    return (this.#next ??= this.#loading.then(() => ((this.#next = null), this.load())));
  }

  source(name: string): Source | undefined {
    return this.sources.find((s) => s.name === name);
  }

  query(id: string): Query | undefined {
    return this.queries.find((q) => q.name === id);
  }

  readers(source: string): Query[] {
    return this.#readers.get(source) ?? [];
  }

  writers(source: string): Query[] {
    return this.#writers.get(source) ?? [];
  }

  async #load(): Promise<void> {
    try {
      const { nodes, edges, version } = await ask<Answer>("graph");
      Object.assign(this, { nodes, edges, version, loaded: true, problem: null });
    } catch (error) {
      this.problem = asProblem(error);
    }
  }
}

export const graph = new Graph();
