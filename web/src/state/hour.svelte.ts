// The last hour of a query: asked for once, and then as the stream of figures tells it.
import { asProblem, isEnded, type Problem } from "../rest/problem";

export interface History {
  times: number[];
  series: Record<string, (number | null)[]>;
}

const LENGTH = 3600_000; // ms
const GAP = 15_000; // without figures, as of a tab out of sight: what the server knows of it is asked for
const AGAIN = 5000; // between two questions that fail

export class Hour {
  times = $state.raw<number[]>([]);
  series = $state.raw<Record<string, (number | null)[]>>({});
  problem = $state.raw<Problem | null>(null);
  #asks: () => Promise<History>;
  #asking = false;
  #askedAt = -Infinity;

  /** `asks`: for the hour before now. */
  constructor(asks: () => Promise<History>) {
    this.#asks = asks;
  }

  async load(now = Date.now()): Promise<void> {
    if (this.#asking || now - this.#askedAt < AGAIN) return;
    this.#asking = true;
    this.#askedAt = now;
    try {
      const { times, series } = await this.#asks();
      Object.assign(this, { times, series, problem: null });
    } catch (error) {
      if (!isEnded(error)) this.problem = asProblem(error);
    } finally {
      this.#asking = false;
    }
  }

  /** Takes the figures of a moment, in ms since 1970 by the server's clock. */
  add(at: number, figures: object, now = Date.now()): void {
    const last = this.times.at(-1) ?? -Infinity;
    if (this.#asking || at <= last) return;
    if (at - last > GAP) return void this.load(now);
    const old = this.times.findIndex((time) => time > at - LENGTH);
    const told = figures as Record<string, number | null>;
    this.times = [...this.times.slice(old), at];
    this.series = Object.fromEntries(Object.entries(this.series).map(([name, values]) => [name, [...values.slice(old), told[name] ?? null]]));
  }
}
