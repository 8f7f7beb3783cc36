// The tabs of the editor. Their texts and properties are kept in the browser, their results are not. Each tab of the browser keeps
// its own; a new one begins with those that were kept last.
import type { Session } from "../rest/statements";
import { store, stored } from "../state/stored";
import type { Result } from "./results.svelte";

interface Kept {
  name: string;
  text: string;
  properties: Record<string, string>;
  variables: Record<string, string>;
}

export class Tab {
  name = $state("");
  text = $state("");
  properties = $state<Record<string, string>>({});
  variables = $state<Record<string, string>>({});
  results = $state.raw<Result[]>([]);
  running = $state(false);
  /** Ends what runs. */
  ending: AbortController | null = null;

  constructor(kept: Partial<Kept>) {
    Object.assign(this, { name: "Tab", text: "", properties: {}, variables: {}, ...kept });
  }

  get session(): Session {
    return { properties: $state.snapshot(this.properties), variables: $state.snapshot(this.variables) };
  }

  get kept(): Kept {
    return { name: this.name, text: this.text, ...this.session };
  }
}

const FIRST: Kept[] = [{ name: "Tab 1", text: "", properties: {}, variables: {} }];
const SOON = 300; // ms: one types several characters in this time

function before<T>(name: string, otherwise: T): T {
  return stored(name, stored(name, otherwise), sessionStorage);
}

class Tabs {
  all = $state<Tab[]>(before("tabs", FIRST).map((kept) => new Tab(kept)));
  at = $state(before("tab", 0));
  #soon: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    addEventListener("pagehide", () => this.#keep());
  }

  get current(): Tab {
    return this.all[this.at] ?? (this.all[0] as Tab);
  }

  /** Opens a tab with a text. */
  open(text = "", name = this.#free()): Tab {
    this.all.push(new Tab({ name, text }));
    this.at = this.all.length - 1;
    this.keep();
    return this.current;
  }

  close(index: number): void {
    this.all[index]?.ending?.abort(); // and with it what runs
    this.all.splice(index, 1);
    if (this.all.length === 0) this.all.push(new Tab({ name: "Tab 1" }));
    if (this.at >= index) this.at = Math.max(0, this.at - 1);
    this.keep();
  }

  select(index: number): void {
    this.at = index;
    this.keep();
  }

  /** Keeps them soon. */
  keep(): void {
    this.#soon ??= setTimeout(() => this.#keep(), SOON);
  }

  #keep(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    const kept = this.all.map((tab) => tab.kept);
    for (const into of [sessionStorage, localStorage]) {
      store("tabs", kept, into);
      store("tab", this.at, into);
    }
  }

  #free(): string {
    const names = new Set(this.all.map((tab) => tab.name));
    for (let n = 1; ; n++) if (!names.has(`Tab ${n}`)) return `Tab ${n}`;
  }
}

export const tabs = new Tabs();
