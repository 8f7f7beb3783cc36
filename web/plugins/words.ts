// The words of the language, read from grammar/ when the page is built: `import { … } from "virtual:words"`.
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

const NAME = "virtual:words";

/** The words of grammar/keywords.txt, and the names of grammar/functions.toml, in lower case. */
export function words(grammar: string): Plugin {
  const read = (file: string): string => readFileSync(`${grammar}/${file}`, "utf-8");
  return {
    name: "words",
    resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
    load(id) {
      if (id !== `\0${NAME}`) return null;
      const keywords = read("keywords.txt").replace(/^#.*$/gm, "").toLowerCase().split(/\s+/).filter(Boolean);
      const functions = [...read("functions.toml").matchAll(/^name = "(\w+)"$/gm)].map(([, name]) => name?.toLowerCase());
      return `export const keywords = ${JSON.stringify(keywords)}; export const functions = ${JSON.stringify(functions)};`;
    },
  };
}
