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
  state = $state<"starts" | "runs" | "waits" | "ended" | "stopped">("starts");
  /** How often the connection was lost and the query was begun again. */
  again = $state(0);
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

  /** Leaves the query, which ends it. */
  stop(): void {
    if (this.state !== "ended") this.state = "stopped";
    this.#ending.abort();
  }
}
