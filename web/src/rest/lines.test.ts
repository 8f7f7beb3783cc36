import { expect, test } from "vitest";
import { lines } from "./lines";

function body(...chunks: string[]): ReadableStream<Uint8Array> {
  const bytes = chunks.map((c) => new TextEncoder().encode(c));
  return new ReadableStream({
    pull(controller) {
      const next = bytes.shift();
      if (next) controller.enqueue(next);
      else controller.close();
    },
  });
}

async function all(...chunks: string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of lines(body(...chunks))) found.push(...batch);
  return found;
}

test("lines are whole wherever the chunks are cut", async () => {
  expect(await all("[1]\n[2", "]\n", "[3,", '"', 'x"]', "\n")).toEqual(["[1]", "[2]", '[3,"x"]']);
});

test("the last line needs no end, and empty lines are none", async () => {
  expect(await all("[1]\n\n[2]")).toEqual(["[1]", "[2]"]);
});

test("a character that is cut in two is whole", async () => {
  const bytes = new TextEncoder().encode('["Tromsø"]\n');
  const cut = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.subarray(0, 8));
      controller.enqueue(bytes.subarray(8));
      controller.close();
    },
  });
  const found: string[] = [];
  for await (const batch of lines(cut)) found.push(...batch);
  expect(found).toEqual(['["Tromsø"]']);
});
