// What of the graph one wants to see: kept while other pages are open, and in the browser.
import { store, stored } from "../state/stored";
import type { Fold } from "./fold";

interface Kept {
  topics: boolean;
  folds: Fold[];
  groups: string[];
}

const MOST = 100; // folds of nodes that have gone are not kept for ever

class View {
  /** Whether topics are shown beside their sources. */
  topics = $state(false);
  folds = $state.raw<Fold[]>([]);
  /** Texts: nodes whose names have one are drawn as one. */
  groups = $state.raw<string[]>([]);

  constructor() {
    const { topics, folds, groups } = stored<Partial<Kept>>("flow", {});
    this.topics = topics === true;
    this.folds = Array.isArray(folds) ? folds : [];
    this.groups = Array.isArray(groups) ? groups : [];
  }

  isFolded({ id, way }: Fold): boolean {
    return this.folds.some((f) => f.id === id && f.way === way);
  }

  /** Folds, or unfolds. */
  toggle(fold: Fold): void {
    const others = this.folds.filter((f) => f.id !== fold.id || f.way !== fold.way);
    this.folds = this.isFolded(fold) ? others : [...others, fold].slice(-MOST);
    this.keep();
  }

  group(text: string): void {
    this.groups = [...this.groups.filter((t) => t !== text), text].slice(-MOST);
    this.keep();
  }

  ungroup(text: string): void {
    this.groups = this.groups.filter((t) => t !== text);
    this.keep();
  }

  unfold(): void {
    [this.folds, this.groups] = [[], []];
    this.keep();
  }

  keep(): void {
    const { topics, folds, groups } = this;
    store("flow", { topics, folds, groups } satisfies Kept);
  }
}

export const view = new View();
