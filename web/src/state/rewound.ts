// How far a rewound query is, by its figures.

/** `since`: the time of the last figures ahead of the rewind; `most`: of the records that were left to read, once known. */
export interface Rewound {
  since: number;
  most: number | null;
}

const SETTLE = 5000; // ms after which figures without lag are no longer those of before

/** What is known of a rewound query behind the figures of a time; null: it has read all again. */
export function followed(before: Rewound, lag: number | null, state: string, at: number): Rewound | null {
  if (lag === 0 && state === "RUNNING" && at - before.since > SETTLE) return null;
  return lag === null || lag === 0 ? before : { ...before, most: Math.max(lag, before.most ?? 0) };
}
