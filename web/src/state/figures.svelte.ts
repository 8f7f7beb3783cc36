// What goes on, a line a second: GET /figures.
import { lines } from "../rest/lines";
import { asProblem, type Problem } from "../rest/problem";
import { send } from "../rest/request";
import { graph } from "./graph.svelte";
import { merged, trails, type Told } from "./merge";

export interface QueryFigures {
  state: string;
  since: number | null;
  mode: string | null;
  rowsIn: number | null;
  rowsOut: number | null;
  inRate: number | null;
  outRate: number | null;
  readRates: Record<string, number | null> | null;
  lag: number | null;
  lagSeconds: number | null;
  stalledSeconds: number | null;
  p50: number | null;
  p99: number | null;
  late: number | null;
  failed: number | null;
  deadLetters: number | null;
  restarts: number | null;
  stateBytes: number | null;
  lastCommit: number | null;
  error: string | null;
}

export interface TopicFigures {
  readRate: number | null;
  writeRate: number | null;
}

export type ServerFigures = Record<string, number | null>;

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;
const SILENCE = 15_000;

class Figures {
  queries = $state.raw<Record<string, QueryFigures>>({});
  topics = $state.raw<Record<string, TopicFigures>>({});
  server = $state.raw<ServerFigures | null>(null);
  /** Rates and lags of the last minute, by query. */
  trails = $state.raw<Record<string, { rates: number[]; lags: number[] }>>({});
  at = $state<number | null>(null);
  live = $state(false);
  problem = $state.raw<Problem | null>(null);
  #ending: AbortController | null = null;

  /** Follows the stream, and begins again where it ends, until `stop`. */
  start(): void {
    this.stop();
    const ending = (this.#ending = new AbortController());
    void this.#follow(ending.signal);
  }

  stop(): void {
    this.#ending?.abort();
    this.#ending = null;
    this.live = false;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for (let wait = FIRST_WAIT; !signal.aborted; wait = Math.min(LONGEST_WAIT, 2 * wait)) {
      try {
        await this.#read(signal, () => (wait = FIRST_WAIT));
      } catch (error) {
        if (signal.aborted) return;
        this.problem = asProblem(error);
      }
      this.live = false;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** Reads one stream; one that says nothing for a while is given up, as the machine may have slept. */
  async #read(outer: AbortSignal, took: () => void): Promise<void> {
    const ending = new AbortController();
    outer.addEventListener("abort", () => ending.abort());
    let silence = setTimeout(() => ending.abort(), SILENCE);
    try {
      const answer = await send("figures", { accept: "application/x-ndjson", signal: ending.signal });
      if (answer.body === null) return;
      for await (const batch of lines(answer.body)) {
        clearTimeout(silence);
        silence = setTimeout(() => ending.abort(), SILENCE);
        for (const line of batch) this.#take(JSON.parse(line) as Told);
        took();
      }
    } finally {
      clearTimeout(silence);
    }
  }

  #take(told: Told): void {
    if (told.at === undefined) return; // the last line of a stream that the server has ended
    const { queries, topics, server } = this;
    Object.assign(this, merged({ queries, topics, server }, told));
    this.trails = trails(this.trails, this.queries);
    this.at = told.at;
    this.live = true;
    this.problem = null;
    if (told.graph !== graph.version) void graph.load();
  }
}

export const figures = new Figures();
