import type { Problem } from "../rest/problem";
import type { Entity } from "../rest/statements";
import { Rows } from "../grid/rows.svelte";

/** What a statement has given. */
export type Result = Answered | Failed | Said | Streamed;

export interface Answered {
  kind: "answered";
  statement: string;
  entity: Entity;
}

export interface Failed {
  kind: "failed";
  statement: string;
  problem: Problem;
}

/** Done by the page itself, as SET. */
export interface Said {
  kind: "said";
  statement: string;
  text: string;
}

/** The rows of a query. */
export class Streamed {
  readonly kind = "streamed";
  readonly rows = new Rows();
  /** `waits`: for the server, to go on by itself; `lost`: the connection is, and the query cannot go on by itself. */
  state = $state<"starts" | "runs" | "waits" | "lost" | "failed" | "ended" | "stopped">("starts");
  /** When the connection was lost last, and when the query went on, in ms since 1970. */
  lostAt = $state<number | null>(null);
  wentOnAt = $state<number | null>(null);
  problem = $state.raw<Problem | null>(null);
  queryId = $state("");
  readonly #ending = new AbortController();

  constructor(
    readonly statement: string,
    readonly pushes: boolean,
  ) {}

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Whether rows may still come. */
  get goesOn(): boolean {
    return this.state === "starts" || this.state === "runs" || this.state === "waits";
  }

  /** Leaves the query, which ends it. */
  stop(): void {
    if (this.goesOn) this.state = "stopped";
    this.#ending.abort();
  }
}
