import { MediaQuery } from "svelte/reactivity";
import { store, stored } from "./stored";

export type Theme = "auto" | "light" | "dark";

const SCHEMES: Record<Theme, string> = { auto: "light dark", light: "light", dark: "dark" };
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

class Colours {
  theme = $state<Theme>(stored<Theme>("theme", "auto"));
  readonly #system = new MediaQuery("prefers-color-scheme: dark");

  /** Whether the colours are dark now: those of the system may change while the page is open. */
  get dark(): boolean {
    return this.theme === "auto" ? this.#system.current : this.theme === "dark";
  }

  constructor() {
    this.#apply();
  }

  change(): void {
    this.theme = NEXT[this.theme];
    store("theme", this.theme);
    this.#apply();
  }

  #apply(): void {
    document.documentElement.style.colorScheme = SCHEMES[this.theme] ?? SCHEMES.auto;
  }
}

export const colours = new Colours();
