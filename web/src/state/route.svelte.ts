// The address behind #, as #/queries/CTAS_N_1: the server sees none of it, so the page works behind any prefix.

class Route {
  parts = $state.raw<string[]>(read());

  constructor() {
    addEventListener("hashchange", () => (this.parts = read()));
  }

  get page(): string {
    return this.parts[0] ?? "editor";
  }

  get name(): string | undefined {
    return this.parts[1];
  }
}

function read(): string[] {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page, and of something on it. */
export function link(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(...parts: string[]): void {
  location.hash = link(...parts);
}

export const route = new Route();
