// Queries that this tab has rewound, and how much they have read again.
import { figures } from "./figures.svelte";
import { followed, type Rewound } from "./rewound";

class Rewinds {
  of = $state.raw<Record<string, Rewound>>({});

  begin(query: string): void {
    this.of = { ...this.of, [query]: { since: figures.at ?? Date.now(), most: null } };
  }

  /** Takes note of the figures of now. */
  look(query: string): void {
    const before = this.of[query];
    const now = figures.queries[query];
    if (before === undefined || now === undefined || figures.at === null) return;
    const found = followed(before, now.lag, now.state, figures.at);
    if (found === null) {
      const { [query]: _, ...others } = this.of;
      this.of = others;
    } else if (found.most !== before.most) {
      this.of = { ...this.of, [query]: found };
    }
  }
}

export const rewinds = new Rewinds();
