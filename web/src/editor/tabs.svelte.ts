// The tabs of the editor. Their texts and properties are kept in the browser, their results are not.
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

class Tabs {
  all = $state<Tab[]>(stored<Kept[]>("tabs", [{ name: "Tab 1", text: "", properties: {}, variables: {} }]).map((kept) => new Tab(kept)));
  at = $state(stored<number>("tab", 0));

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
    this.all[index]?.ending?.abort();
    this.all.splice(index, 1);
    if (this.all.length === 0) this.all.push(new Tab({ name: "Tab 1" }));
    if (this.at >= index) this.at = Math.max(0, this.at - 1);
    this.keep();
  }

  select(index: number): void {
    this.at = index;
    this.keep();
  }

  keep(): void {
    store("tabs", this.all.map((tab) => tab.kept));
    store("tab", this.at);
  }

  #free(): string {
    const names = new Set(this.all.map((tab) => tab.name));
    for (let n = 1; ; n++) if (!names.has(`Tab ${n}`)) return `Tab ${n}`;
  }
}

export const tabs = new Tabs();
