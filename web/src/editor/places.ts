import type { Place } from "../rest/statements";

/** The statements of a text, by the server's parser, that lie in a range. A place within a statement stands for it. */
export function chosen(places: Place[], from: number, to: number): Place[] {
  const inside = places.filter((p) => p.start < to && p.end > from);
  if (from !== to || inside.length > 0) return inside;
  const around = places.findLast((p) => p.start <= from); // the place is behind its end, or between two
  return around ? [around] : places.slice(0, 1);
}
