/** The last so many of what was added, and no more than so much of it: each has a size. */
export class Ring<T> {
  #items: (T | undefined)[] = [];
  #sizes: number[] = [];
  #begin = 0;
  #length = 0;
  #total = 0;
  /** How many were added. */
  added = 0;

  constructor(
    readonly most: number,
    readonly largest = Infinity,
  ) {}

  get length(): number {
    return this.#length;
  }

  /** How many were added that are there no more. */
  get lost(): number {
    return this.added - this.#length;
  }

  /** Adds one; the oldest ones go where there is no room, but the last one is always there. */
  add(item: T, size = 0): void {
    this.added++;
    this.#total += size;
    if (this.#length === this.most) this.#drop();
    while (this.#length > 0 && this.#total > this.largest) this.#drop();
    const at = (this.#begin + this.#length++) % this.most;
    this.#items[at] = item;
    this.#sizes[at] = size;
  }

  at(index: number): T | undefined {
    return index < 0 || index >= this.#length ? undefined : this.#items[(this.#begin + index) % this.most];
  }

  /** All of them, or those from a place on. */
  all(from = 0): T[] {
    const begin = this.#begin + Math.max(0, from);
    const end = this.#begin + this.#length;
    const items = this.#items as T[]; // two copies of memory: one by one, thousands would take a millisecond each time
    if (begin >= this.most) return items.slice(begin - this.most, Math.max(0, end - this.most));
    return [...items.slice(begin, Math.min(end, this.most)), ...items.slice(0, Math.max(0, end - this.most))];
  }

  #drop(): void {
    this.#total -= this.#sizes[this.#begin] ?? 0;
    this.#items[this.#begin] = undefined;
    this.#begin = (this.#begin + 1) % this.most;
    this.#length--;
  }
}
