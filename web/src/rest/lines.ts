import { isEnded, Problem } from "./problem";

/** The whole lines of a body, in batches as they come. A last line without its end is given, too. */
export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let parts: string[] = []; // of the line that is not whole yet: a value may have megabytes
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(broken);
      if (done) break;
      const found = value.split("\n");
      if (found.length === 1) {
        parts.push(value);
        continue;
      }
      found[0] = [...parts, found[0]].join("");
      parts = [found.pop() ?? ""];
      yield found.filter((line) => line !== "");
    }
    const rest = parts.join("");
    if (rest !== "") yield [rest];
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function broken(error: unknown): never {
  if (isEnded(error)) throw error;
  throw new Problem("the connection to the server was lost", "connection-lost", 0);
}
