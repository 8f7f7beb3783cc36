// What the browser keeps. A browser that keeps nothing, as in a private window, changes only that.

/** The value that is kept under a name, or `otherwise`. */
export function stored<T>(name: string, otherwise: T, store: Storage = localStorage): T {
  try {
    const text = store.getItem(`ksqlpy.${name}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

/** Keeps a value; null removes it. */
export function store(name: string, value: unknown, into: Storage = localStorage): void {
  try {
    if (value === null) into.removeItem(`ksqlpy.${name}`);
    else into.setItem(`ksqlpy.${name}`, JSON.stringify(value));
  } catch {
    // no place
  }
}
