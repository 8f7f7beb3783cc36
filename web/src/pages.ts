// The pages, as the navigation lists them. Each is loaded when it is first seen.
import type { Component } from "svelte";

export interface Page {
  id: string;
  title: string;
  load: () => Promise<{ default: Component }>;
}

export const PAGES: [Page, ...Page[]] = [
  { id: "editor", title: "Editor", load: () => import("./editor/EditorPage.svelte") },
  { id: "flow", title: "Flow", load: () => import("./flow/FlowPage.svelte") },
  { id: "sources", title: "Sources", load: () => import("./lists/SourcesPage.svelte") },
  { id: "queries", title: "Queries", load: () => import("./lists/QueriesPage.svelte") },
  { id: "topics", title: "Topics", load: () => import("./lists/TopicsPage.svelte") },
  { id: "letters", title: "Dead letters", load: () => import("./letters/LettersPage.svelte") },
  { id: "project", title: "Project", load: () => import("./project/ProjectPage.svelte") },
  { id: "server", title: "Server", load: () => import("./server/ServerPage.svelte") },
];
