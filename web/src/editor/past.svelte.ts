// Statements that were run in this browser, last first.
import { store, stored } from "../state/stored";

export interface Ran {
  statement: string;
  at: number;
  well: boolean;
}

const KEPT = 200;
const LONGEST = 20_000;
const LARGEST = 500_000; // characters of all: a browser keeps some millions, and the tabs are to have their place

const NAME = "past";

class Past {
  all = $state.raw<Ran[]>(stored<Ran[]>(NAME, []));

  constructor() {
    addEventListener("storage", ({ key }) => {
      if (key === `ksqlpy.${NAME}`) this.all = stored<Ran[]>(NAME, []); // another tab of the browser has added one
    });
  }

  clear(): void {
    this.#take([]);
  }

  add(ran: Ran): void {
    let size = 0;
    const all = [ran, ...this.all.filter((r) => r.statement !== ran.statement)].slice(0, KEPT);
    this.#take(all.filter((r) => (size += r.statement.length) <= LARGEST));
  }

  #take(all: Ran[]): void {
    this.all = all;
    store(NAME, all);
  }
}

export const past = new Past();

/** Keeps a statement that was run; one that is very long is not kept. */
export function remember(statement: string, well: boolean): void {
  if (statement.length <= LONGEST) past.add({ statement, at: Date.now(), well });
}
