import { store, stored } from "./stored";

export type Theme = "auto" | "light" | "dark";

const SCHEMES: Record<Theme, string> = { auto: "light dark", light: "light", dark: "dark" };
const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

class Colours {
  theme = $state<Theme>(stored<Theme>("theme", "auto"));

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
