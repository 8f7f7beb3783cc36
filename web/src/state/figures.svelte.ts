// What goes on, a line a second: GET /figures. Of all tabs of a browser that are in sight one reads, and tells the others.
import { lines } from "../rest/lines";
import { asProblem, Problem } from "../rest/problem";
import { BASE, send } from "../rest/request";
import { graph } from "./graph.svelte";
import { login } from "./login.svelte";
import { me } from "./me.svelte";
import { merged, trails, type Known, type Told, type Trails } from "./merge";
import { backoff, inTurn, locksHere, sleep } from "./turn";

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

/** What a tab tells the others of the browser. */
type Word =
  | { kind: "hello" } // it has just come into sight, and knows nothing
  | { kind: "all"; known: Known; trails: Trails; at: number; version: string }
  | { kind: "line"; told: Told }
  | { kind: "away"; message: string; status: number };

const SILENCE = 15_000; // of a stream, which has a line each second: the machine may have slept
const PATIENCE = 30_000; // with the tab that reads: longer than it may be silent while the server is away
const REST = 2000; // after which a tab that is out of sight reads no more: one goes from tab to tab and back
const GAP = 10_000; // between two lines, after which the last minute is no minute any more

class Figures {
  queries = $state.raw<Record<string, QueryFigures>>({});
  topics = $state.raw<Record<string, TopicFigures>>({});
  server = $state.raw<ServerFigures | null>(null);
  /** Rates and lags of the last minute, by query. */
  trails = $state.raw<Trails>({});
  at = $state<number | null>(null);
  live = $state(false);
  problem = $state.raw<Problem | null>(null);
  #wanted = false;
  #ending: AbortController | null = null;
  #rest: ReturnType<typeof setTimeout> | undefined;
  #channel: BroadcastChannel | null = null;
  #reads = false;
  /** Whether all figures have come since this tab has come into sight: lines tell changes only. */
  #whole = false;
  #heard = 0;

  /** Follows what goes on while the tab is in sight, until `stop`. */
  start(): void {
    if (this.#wanted) return;
    this.#wanted = true;
    document.addEventListener("visibilitychange", this.#look);
    this.#look();
  }

  stop(): void {
    this.#wanted = false;
    document.removeEventListener("visibilitychange", this.#look);
    this.#end();
    this.live = false;
  }

  readonly #look = (): void => {
    clearTimeout(this.#rest);
    if (document.visibilityState === "hidden") this.#rest = setTimeout(() => this.#end(), REST);
    else if (this.#ending === null) void this.#follow((this.#ending = new AbortController()).signal);
  };

  #end(): void {
    clearTimeout(this.#rest);
    this.#ending?.abort();
    this.#ending = null;
    this.#channel?.close();
    this.#channel = null;
    this.#whole = false;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const name = await this.#name(signal);
    if (name === null || signal.aborted) return;
    const channel = (this.#channel = new BroadcastChannel(name));
    channel.onmessage = ({ data }: MessageEvent<Word>) => this.#hear(data);
    this.#say({ kind: "hello" });
    this.#heard = Date.now();
    for (let take = false; !signal.aborted; ) {
      const waiting = new AbortController();
      const watch = this.#watch(AbortSignal.any([signal, waiting.signal]));
      const read = inTurn(locksHere(), name, AbortSignal.any([signal, waiting.signal]), (over) => this.#lead(over), take);
      take = await Promise.race([read.then(() => false), watch]);
      waiting.abort(); // one that waits for its turn takes it
      await read;
    }
  }

  /** The name by which tabs know one another: of the same server, and of those who see the same. */
  async #name(signal: AbortSignal): Promise<string | null> {
    for (let failed = 1; me.who === null; failed++) {
      await me.load();
      if (signal.aborted || login.problem !== null) return null;
      if (me.problem === null) break;
      this.#miss(me.problem);
      await sleep(backoff(failed), signal);
      if (signal.aborted) return null;
    }
    return `ksqlpy figures 1 ${BASE.pathname} ${JSON.stringify([me.who?.login, me.who?.name, me.who?.roles])}`;
  }

  /** Gives true when nothing has been heard for long, although another tab reads. */
  async #watch(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      await sleep(1000 + Math.random() * 4000, signal);
      if (signal.aborted) return new Promise(() => undefined); // nobody asks any more
      if (this.#reads) this.#heard = Date.now();
      else if (Date.now() - this.#heard > PATIENCE) {
        this.#heard = Date.now();
        return true;
      }
    }
  }

  #say(word: Word): void {
    this.#channel?.postMessage(word);
  }

  #hear(word: Word): void {
    if (word.kind === "hello") {
      const { queries, topics, server, trails, at } = this;
      if (this.#reads && at !== null && this.live) this.#say({ kind: "all", known: { queries, topics, server }, trails, at, version: graph.version });
      return;
    }
    if (this.#reads) return; // a tab that has not seen yet that its turn is over
    this.#heard = Date.now();
    if (word.kind === "all") {
      Object.assign(this, word.known, { trails: word.trails });
      this.#now(word.at, word.version);
    } else if (word.kind === "line") {
      this.#take(word.told);
    } else {
      this.#miss(new Problem(word.message, "unreachable", word.status));
    }
  }

  // ------------------------------------------------------------ the tab that reads

  /** Follows the stream, and begins again where it ends. */
  async #lead(signal: AbortSignal): Promise<void> {
    this.#reads = true;
    try {
      for (let failed = 0; !signal.aborted; ) {
        try {
          await this.#read(signal, () => (failed = 0));
          failed++; // a stream that the server has ended
        } catch (error) {
          if (signal.aborted) return;
          failed++;
          const problem = asProblem(error);
          this.#miss(problem);
          // A login that has ended is this tab's own: the others ask by theirs.
          if (problem.status !== 401) this.#say({ kind: "away", message: problem.message, status: problem.status });
        }
        await sleep(backoff(failed), signal);
      }
    } finally {
      this.#reads = false;
    }
  }

  /** Reads one stream; one that says nothing for a while is given up. */
  async #read(outer: AbortSignal, took: () => void): Promise<void> {
    const silent = new AbortController();
    let silence = setTimeout(() => silent.abort(), SILENCE);
    try {
      const signal = AbortSignal.any([outer, silent.signal]);
      const answer = await send("figures", { accept: "application/x-ndjson", signal });
      if (answer.body === null) return;
      for await (const batch of lines(answer.body)) {
        clearTimeout(silence);
        silence = setTimeout(() => silent.abort(), SILENCE);
        for (const line of batch) {
          const told = JSON.parse(line) as Told;
          if (told.at === undefined) continue; // the last line of a stream that the server ends
          this.#take(told);
          this.#say({ kind: "line", told });
          took();
        }
      }
    } finally {
      clearTimeout(silence);
    }
  }

  // ------------------------------------------------------------ what is known

  #take(told: Told): void {
    if (!told.full && !this.#whole) return;
    const { queries, topics, server } = this;
    Object.assign(this, merged({ queries, topics, server }, told));
    const gap = this.at !== null && (told.at ?? 0) - this.at > GAP;
    this.trails = trails(gap ? {} : this.trails, this.queries);
    this.#now(told.at ?? 0, told.graph);
  }

  #now(at: number, version: string | undefined): void {
    this.#whole = true;
    this.at = at;
    this.live = true;
    this.problem = null;
    if (version !== graph.version) void graph.load();
  }

  #miss(problem: Problem): void {
    this.live = false;
    this.problem = problem;
  }
}

export const figures = new Figures();
