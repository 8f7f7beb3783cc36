// Runs statements of a tab, one after the other, until one fails.
import { asProblem, isEnded, Problem } from "../rest/problem";
import { stream } from "../rest/rows";
import { check, run, type Place } from "../rest/statements";
import { graph } from "../state/graph.svelte";
import { chosen } from "./places";
import { remember } from "./past.svelte";
import { Streamed, type Result } from "./results.svelte";
import { change } from "./session";
import type { Tab } from "./tabs.svelte";

const CHANGES = /^(CREATE|DROP|ALTER|TERMINATE|PAUSE|RESUME|INSERT\s+INTO\s+\S+\s+SELECT)/i;

const AGAIN = 2000;

/** Runs what lies in a range of the text of a tab. */
export async function runRange(tab: Tab, from: number, to: number): Promise<void> {
  stop(tab);
  tab.results = [];
  tab.running = true;
  const ending = (tab.ending = new AbortController());
  const { text } = tab;
  try {
    const { statements } = await check(text, tab.session, ending.signal);
    for (const place of chosen(statements, from, to)) {
      if (ending.signal.aborted || !(await runPlace(tab, place, whole(text.slice(place.start, place.end)), ending.signal))) break;
    }
  } catch (error) {
    if (!isEnded(error)) add(tab, { kind: "failed", statement: "", problem: asProblem(error) });
  } finally {
    if (tab.ending === ending) tab.running = false;
  }
}

/** A statement with its semicolon, which the last one of a text may lack. */
function whole(statement: string): string {
  return statement.endsWith(";") ? statement : `${statement};`;
}

/** Ends what runs in a tab. */
export function stop(tab: Tab): void {
  tab.ending?.abort();
  for (const result of tab.results) if (result.kind === "streamed") result.stop();
  tab.running = false;
}

function add(tab: Tab, result: Result): void {
  tab.results = [...tab.results, result];
}

/** Runs one statement; gives whether it went well. */
async function runPlace(tab: Tab, { kind }: Place, statement: string, signal: AbortSignal): Promise<boolean> {
  try {
    if (kind === "push" || kind === "pull" || kind === "print") {
      return await rowsOf(tab, new Streamed(statement, kind !== "pull"), signal);
    }
    const said = kind === "session" ? change(statement, tab) : null;
    if (said !== null) {
      tab.properties = { ...tab.properties };
      tab.variables = { ...tab.variables };
      add(tab, { kind: "said", statement, text: said });
    } else if (kind === "script") {
      throw new Problem("the file of RUN SCRIPT is not on the server", "page", 0, "paste its text into a tab");
    } else {
      const entities = await run(statement, tab.session, signal);
      for (const entity of entities) add(tab, { kind: "answered", statement, entity });
      if (entities.length === 0) add(tab, { kind: "said", statement, text: "Done" }); // INSERT INTO … VALUES
    }
    remember(statement, true);
    if (CHANGES.test(statement)) void graph.load();
    return true;
  } catch (error) {
    if (isEnded(error)) return false;
    remember(statement, false);
    add(tab, { kind: "failed", statement, problem: asProblem(error) });
    return false;
  }
}

async function rowsOf(tab: Tab, result: Streamed, signal: AbortSignal): Promise<boolean> {
  add(tab, result);
  signal.addEventListener("abort", () => result.stop());
  const takes = {
    columns(columns: typeof result.rows.columns, id: string) {
      result.rows.columns = columns;
      result.queryId = id;
      result.state = "runs";
      remember(result.statement, true);
    },
    rows: (rows: Parameters<typeof result.rows.add>[0]) => result.rows.add(rows),
  };
  for (;;) {
    try {
      await stream(result.statement, tab.session, takes, result.signal);
      if (result.state !== "stopped") result.state = "ended";
      return true;
    } catch (error) {
      if (isEnded(error)) return true;
      const problem = asProblem(error);
      if (result.state === "starts") remember(result.statement, false);
      if (result.state === "starts" || !result.pushes || !isAway(problem)) {
        result.problem = problem;
        result.state = "ended";
        return false;
      }
      result.state = "waits"; // and goes on by itself when the server is there again
      result.again++;
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
      if (result.signal.aborted) return true;
    }
  }
}

/** Whether the server is not there, or starts, or stops. */
function isAway({ status }: Problem): boolean {
  return status === 0 || status === 503;
}
