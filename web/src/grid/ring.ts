/** The last so many of what was added. */
export class Ring<T> {
  #items: T[] = [];
  #begin = 0;
  /** How many were added. */
  added = 0;

  constructor(readonly size: number) {}

  get length(): number {
    return this.#items.length;
  }

  /** How many were added that are there no more. */
  get lost(): number {
    return this.added - this.#items.length;
  }

  add(item: T): void {
    this.added++;
    if (this.#items.length < this.size) {
      this.#items.push(item);
      return;
    }
    this.#items[this.#begin] = item;
    this.#begin = (this.#begin + 1) % this.size;
  }

  at(index: number): T | undefined {
    return this.#items[(this.#begin + index) % this.#items.length];
  }

  all(): T[] {
    return [...this.#items.slice(this.#begin), ...this.#items.slice(0, this.#begin)];
  }
}
