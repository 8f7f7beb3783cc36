// Statements that were run in this browser, last first.
import { store, stored } from "../state/stored";

export interface Ran {
  statement: string;
  at: number;
  well: boolean;
}

const KEPT = 200;
const LONGEST = 20_000;

class Past {
  all = $state.raw<Ran[]>(stored<Ran[]>("past", []));

  clear(): void {
    this.#take([]);
  }

  add(ran: Ran): void {
    this.#take([ran, ...this.all.filter((r) => r.statement !== ran.statement)].slice(0, KEPT));
  }

  #take(all: Ran[]): void {
    this.all = all;
    store("past", all);
  }
}

export const past = new Past();

/** Keeps a statement that was run; one that is very long is not kept. */
export function remember(statement: string, well: boolean): void {
  if (statement.length <= LONGEST) past.add({ statement, at: Date.now(), well });
}
