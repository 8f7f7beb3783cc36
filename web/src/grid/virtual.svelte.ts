// What of many is in sight: TanStack's virtualizer for columns, and a division for rows, which are all of one height.
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";

/** The columns in sight, each of a width of its own. */
export class Columns {
  items = $state.raw<VirtualItem[]>([]);
  total = $state(0);
  #of: Virtualizer<HTMLElement, HTMLElement> | undefined;

  /** Follows an element that scrolls; gives what ends that. */
  follow(element: HTMLElement): () => void {
    this.#of = new Virtualizer<HTMLElement, HTMLElement>({
      count: 0,
      horizontal: true,
      overscan: 2,
      getScrollElement: () => element,
      estimateSize: () => 1,
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: () => this.#read(),
    });
    const end = this.#of._didMount();
    this.#of._willUpdate();
    return end;
  }

  /** There are now so many, of these widths in pixels. */
  set(count: number, size: (index: number) => number): void {
    if (this.#of === undefined) return;
    this.#of.setOptions({ ...this.#of.options, count, estimateSize: size });
    this.#of.measure();
    this.#read();
  }

  /** Brings one into sight. */
  show(index: number): void {
    this.#of?.scrollToIndex(index);
  }

  #read(): void {
    this.items = this.#of?.getVirtualItems() ?? [];
    this.total = this.#of?.getTotalSize() ?? 0;
  }
}

const AROUND = 4; // rows that are there although they are not in sight, so that scrolling shows no gap

/** The rows in sight: from `begin` up to `end`. */
export class Lines {
  begin = $state(0);
  end = $state(0);
  #box: HTMLElement | undefined;
  #count = 0;

  constructor(
    readonly height: number,
    /** What the titles cover. */
    private readonly head: number,
  ) {}

  /** Follows an element that scrolls; gives what ends that. */
  follow(element: HTMLElement): () => void {
    this.#box = element;
    const look = (): void => this.#read();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", look);
    };
  }

  /** There are now so many. */
  set(count: number): void {
    this.#count = count;
    this.#read();
  }

  /** Whether the last row is in sight. */
  get atEnd(): boolean {
    const box = this.#box;
    return box === undefined || box.scrollTop + box.clientHeight >= this.head + (this.#count - 2) * this.height;
  }

  /** Brings one into sight. */
  show(index: number): void {
    const box = this.#box;
    if (box === undefined) return;
    const top = index * this.height;
    const bottom = top + this.height + this.head - box.clientHeight;
    if (box.scrollTop > top) box.scrollTop = top;
    else if (box.scrollTop < bottom) box.scrollTop = bottom;
    this.#read();
  }

  /** Moves what is in sight by so many rows. */
  move(rows: number): void {
    if (this.#box !== undefined && rows !== 0) this.#box.scrollTop += rows * this.height;
  }

  #read(): void {
    const { scrollTop = 0, clientHeight = 0 } = this.#box ?? {};
    const first = Math.floor(scrollTop / this.height);
    const end = Math.min(this.#count, first + Math.ceil(clientHeight / this.height) + AROUND);
    this.begin = Math.max(0, Math.min(first - AROUND, end));
    this.end = end;
  }
}
