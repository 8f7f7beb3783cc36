// What goes with a source that is dropped.
import type { Query, Source } from "./graph.svelte";

export interface Dropped {
  /** All queries that read or write what goes. */
  queries: Query[];
  /** What is made from it, what depends on it most first; without itself. */
  sources: Source[];
}

/** What has to go so that a source can: its queries, those that read it, and the sources that these have made. */
export function dropped(source: Source, sources: Source[], queries: Query[]): Dropped {
  const names = new Set([source.name]);
  const found: Query[] = [];
  for (const name of names) {
    for (const query of queries) {
      const reads = query.sources.includes(name);
      if ((reads || query.sink === name) && !found.includes(query)) found.push(query);
      const sink = sources.find((s) => s.name === query.sink);
      if (reads && sink?.query === query.name) names.add(sink.name); // and the loop goes on with it
    }
  }
  names.delete(source.name);
  return { queries: found, sources: [...names].reverse().flatMap((name) => sources.find((s) => s.name === name) ?? []) };
}
