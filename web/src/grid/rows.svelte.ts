import { cellText, type Json } from "../rest/digits";
import type { Column } from "../rest/rows";
import { Ring } from "./ring";

export const KEPT = 10_000;

/** A row: its number, from 1, and its values. */
export interface Row {
  number: number;
  values: Json[];
}

/** The rows of a query that are shown. They change ten times a second at most, however many come. */
export class Rows {
  columns = $state.raw<Column[]>([]);
  /** What is shown: filtered, and without what came behind a pause. */
  shown = $state.raw<Row[]>([]);
  added = $state(0);
  lost = $state(0);
  paused = $state(false);
  filter = $state("");
  #ring = new Ring<Row>(KEPT);
  /** What is shown during a pause. */
  #frozen: Row[] | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  add(rows: Json[][]): void {
    for (const values of rows) this.#ring.add({ number: this.#ring.added + 1, values });
    this.#timer ??= setTimeout(() => this.#come(), 100);
  }

  pause(paused: boolean): void {
    this.paused = paused;
    this.#frozen = paused ? this.#ring.all() : null;
    this.#show();
  }

  narrow(filter: string): void {
    this.filter = filter;
    this.#show();
  }

  #come(): void {
    this.#timer = undefined;
    this.added = this.#ring.added;
    if (!this.paused) this.#show();
  }

  #show(): void {
    const all = this.#frozen ?? this.#ring.all();
    const wanted = this.filter.toLowerCase();
    this.lost = (all[0]?.number ?? 1) - 1;
    this.shown = wanted === "" ? all : all.filter((row) => row.values.some((v) => cellText(v).toLowerCase().includes(wanted)));
  }
}
