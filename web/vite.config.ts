import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { words } from "./plugins/words.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

// KSQLPY_WEB_OUT: another folder for the result.
export default defineConfig({
  base: "./", // works behind any prefix
  plugins: [words(`${root}grammar`), svelte()],
  build: { outDir: process.env["KSQLPY_WEB_OUT"] ?? `${root}ksqlpy/web/static`, emptyOutDir: true, modulePreload: { polyfill: false } },
  server: { proxy: { "^/(?!ui/|src/|@|node_modules/)": process.env["KSQLPY_SERVER"] ?? "http://127.0.0.1:8088" } },
  test: { include: ["src/**/*.test.ts"] },
});
