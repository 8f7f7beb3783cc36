import { cellText, type Json } from "../rest/digits";
import type { Column } from "../rest/rows";
import { Ring } from "./ring";

export const KEPT = 10_000;
/** Characters of all rows that are kept: rows of a megabyte each are fewer. */
export const LARGEST = 50_000_000;

/** A row: its number, from 1, and its values. `gap`: rows between it and the one before may be missing. */
export interface Row {
  number: number;
  values: Json[];
  gap?: true;
}

const STEP = 200; // ms

/** The rows of a query that are shown. They change five times a second at most, however many come, and not while nobody sees them. */
export class Rows {
  columns = $state.raw<Column[]>([]);
  /** What is shown: filtered, and without what came behind a pause. */
  shown = $state.raw<Row[]>([]);
  added = $state(0);
  lost = $state(0);
  paused = $state(false);
  filter = $state("");
  #ring: Ring<Row>;
  #gap = false;
  /** The number of the last row that was compared with the filter. */
  #seen = 0;
  /** What was there when a pause began. */
  #frozen: Row[] | null = null;
  #coming = false;
  #came = -STEP;

  constructor(kept = KEPT, largest = LARGEST) {
    this.#ring = new Ring<Row>(kept, largest);
  }

  /** Adds rows; `sizes`: the characters of each. */
  add(rows: Json[][], sizes: number[] = []): void {
    rows.forEach((values, i) => {
      const row: Row = { number: this.#ring.added + 1, values };
      if (this.#gap) row.gap = true;
      this.#gap = false;
      this.#ring.add(row, sizes[i] ?? 0);
    });
    if (this.#coming) return;
    this.#coming = true;
    setTimeout(() => this.#come(), Math.max(0, this.#came + STEP - performance.now()));
  }

  /** Rows may be missing between those that are there and the next one. */
  breaks(): void {
    this.#gap = this.#ring.added > 0;
  }

  pause(paused: boolean): void {
    this.paused = paused;
    this.#frozen = null;
    this.#show();
    if (paused) this.#frozen = this.#ring.all();
  }

  narrow(filter: string): void {
    this.filter = filter;
    if (this.#frozen !== null) this.shown = this.#narrowed(this.#frozen);
    else this.#show(true);
  }

  #come(): void {
    if (globalThis.document?.hidden) {
      document.addEventListener("visibilitychange", () => this.#come(), { once: true });
      return;
    }
    this.#coming = false;
    this.#came = performance.now();
    this.added = this.#ring.added;
    if (!this.paused) this.#show();
  }

  /** Shows what is there: of rows that were compared with the filter before, only those that have gone are looked for. */
  #show(anew = false): void {
    const first = this.#ring.lost + 1;
    this.lost = this.#ring.lost;
    if (this.filter === "") {
      this.shown = this.#ring.all();
    } else {
      const before = anew ? [] : this.shown;
      const gone = before.findIndex((row) => row.number >= first);
      const fresh = this.#narrowed(this.#ring.all(anew ? 0 : this.#seen - this.#ring.lost));
      this.shown = [...(gone < 0 ? [] : before.slice(gone)), ...fresh];
    }
    this.#seen = this.#ring.added;
  }

  #narrowed(rows: Row[]): Row[] {
    const wanted = this.filter.toLowerCase();
    return wanted === "" ? rows : rows.filter((row) => row.values.some((v) => cellText(v).toLowerCase().includes(wanted)));
  }
}
