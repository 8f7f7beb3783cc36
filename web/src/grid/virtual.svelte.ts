// TanStack's virtualizer for Svelte: which rows, or columns, of many are in sight.
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";

const HEAD = 40; // the titles cover as much of the rows

export class Virtual {
  items = $state.raw<VirtualItem[]>([]);
  total = $state(0);
  #of: Virtualizer<HTMLElement, HTMLElement> | undefined;

  constructor(private readonly horizontal = false) {}

  /** Follows an element that scrolls; gives what ends that. */
  follow(element: HTMLElement): () => void {
    this.#of = new Virtualizer<HTMLElement, HTMLElement>({
      count: 0,
      horizontal: this.horizontal,
      overscan: this.horizontal ? 2 : 10,
      scrollPaddingEnd: this.horizontal ? 0 : HEAD,
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

  /** There are now so many, of these sizes in pixels. */
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
