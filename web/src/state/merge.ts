// How lines of GET /figures become the figures that are known.
import type { QueryFigures, ServerFigures, TopicFigures } from "./figures.svelte";

/** A line: what has changed since the line before it; `full`: everything. */
export interface Told {
  full?: boolean;
  at?: number;
  graph?: string;
  queries?: Record<string, Partial<QueryFigures>>;
  topics?: Record<string, Partial<TopicFigures>>;
  server?: ServerFigures;
  gone?: string[];
  goneTopics?: string[];
}

export interface Known {
  queries: Record<string, QueryFigures>;
  topics: Record<string, TopicFigures>;
  server: ServerFigures | null;
}

export function merged(known: Known, told: Told): Known {
  const before: Known = told.full ? { queries: {}, topics: {}, server: null } : known;
  return {
    queries: each(before.queries, told.queries, told.gone),
    topics: each(before.topics, told.topics, told.goneTopics),
    server: told.server ? { ...before.server, ...told.server } : before.server,
  };
}

function each<T extends object>(before: Record<string, T>, told: Record<string, Partial<T>> = {}, gone: string[] = []): Record<string, T> {
  const found = { ...before };
  for (const name of gone) delete found[name];
  for (const [name, changed] of Object.entries(told)) found[name] = { ...found[name], ...changed } as T;
  return found;
}

const STEPS = 60;

export type Trails = Record<string, { rates: number[]; lags: number[] }>;

/** The last values of each query with those of now. */
export function trails(before: Trails, queries: Record<string, QueryFigures>): Trails {
  const next = (values: number[] | undefined, value: number | null): number[] => [...(values ?? []).slice(1 - STEPS), value ?? 0];
  return Object.fromEntries(
    Object.entries(queries).map(([id, now]) => [id, { rates: next(before[id]?.rates, now.inRate), lags: next(before[id]?.lags, now.lag) }]),
  );
}

/** Whether a lag grows: of its last ten values, the later half is larger than the half before it. */
export function grows(lags: number[]): boolean {
  const last = lags.slice(-10);
  const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
  return last.length === 10 && sum(last.slice(5)) > 1.1 * sum(last.slice(0, 5)) && (last.at(-1) ?? 0) > 100;
}
