import { untrack } from "svelte";
import { asProblem, isEnded, type Problem } from "../rest/problem";

/** What the server was asked for last. An answer to an earlier question that comes late is dropped. */
export class Asked<T> {
  value = $state.raw<T | null>(null);
  problem = $state.raw<Problem | null>(null);
  busy = $state(false);
  #ending: AbortController | null = null;

  /** Asks; the value of before stays until there is an answer, also where that is an error. */
  async ask(question: (signal: AbortSignal) => Promise<T>): Promise<void> {
    this.#ending?.abort();
    const ending = (this.#ending = new AbortController());
    this.busy = true;
    try {
      const value = await untrack(() => question(ending.signal));
      if (this.#ending === ending) [this.value, this.problem] = [value, null];
    } catch (error) {
      if (this.#ending === ending && !isEnded(error)) this.problem = asProblem(error);
    } finally {
      if (this.#ending === ending) this.busy = false;
    }
  }

  /** Asks for nothing any more, and forgets what was told. */
  end(): void {
    this.#ending?.abort();
    this.#ending = null;
    [this.value, this.problem, this.busy] = [null, null, false];
  }
}
