// Runs statements of a tab, one after the other, until one fails.
import { asProblem, isEnded, Problem } from "../rest/problem";
import { stream } from "../rest/rows";
import { check, run, type Place, type Session } from "../rest/statements";
import { graph } from "../state/graph.svelte";
import { backoff, sleep } from "../state/turn";
import { canGoOn } from "./goingon";
import { chosen } from "./places";
import { remember } from "./past.svelte";
import { Streamed, type Result } from "./results.svelte";
import { change } from "./session";
import type { Tab } from "./tabs.svelte";

const CHANGES = /^(CREATE|DROP|ALTER|TERMINATE|PAUSE|RESUME|INSERT\s+INTO\s+\S+\s+SELECT)/i;

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

/** Runs a query again whose connection was lost, below its rows. */
export async function runAgain(tab: Tab, statement: string): Promise<void> {
  tab.ending?.abort();
  const ending = (tab.ending = new AbortController());
  tab.running = true;
  try {
    await rowsOf(tab, new Streamed(statement, true), ending.signal);
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
  const stop = (): void => result.stop();
  signal.addEventListener("abort", stop);
  try {
    return await followed(result, tab.session);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Takes the rows of a query; gives whether it went well. Where the connection is lost it goes on, if it can. */
async function followed(result: Streamed, session: Session): Promise<boolean> {
  const { rows, statement } = result;
  let failed = 0;
  const takes = {
    columns(columns: typeof rows.columns, id: string) {
      if (result.lostAt !== null && rows.added > 0 && !alike(columns, rows.columns)) {
        throw new Problem("the query has other columns since the connection was lost", "page", 0, "run it again");
      }
      rows.columns = columns;
      result.queryId = id;
      if (result.state === "starts") remember(statement, true);
      if (result.state === "waits") result.wentOnAt = Date.now();
      result.state = "runs";
      failed = 0;
    },
    rows: (more: Parameters<typeof rows.add>[0], sizes: number[]) => rows.add(more, sizes),
  };
  for (;;) {
    try {
      await stream(statement, session, takes, result.signal);
      if (result.goesOn) result.state = "ended";
      return true;
    } catch (error) {
      if (isEnded(error)) return true;
      const problem = asProblem(error);
      const began = result.state !== "starts";
      if (!began || !result.pushes || !isAway(problem)) {
        if (!began) remember(statement, false);
        result.problem = problem;
        result.state = result.pushes && began ? "failed" : "ended";
        return false;
      }
      if (result.state === "runs") {
        result.lostAt = Date.now();
        rows.breaks();
      }
      if (!canGoOn(statement)) {
        result.state = "lost";
        return false;
      }
      result.state = "waits";
      session = fromNowOn(session);
      await sleep(backoff(++failed, 1000), result.signal);
      if (result.signal.aborted) return true;
    }
  }
}

const BEGIN = "auto.offset.reset";

/** The session in which a query goes on with the next record, wherever it began: the rows before are there. */
function fromNowOn({ properties, variables }: Session): Session {
  const others = Object.entries(properties).filter(([name]) => !name.endsWith(BEGIN));
  return { properties: { ...Object.fromEntries(others), [BEGIN]: "latest" }, variables };
}

function alike(a: { name: string; type: string }[], b: { name: string; type: string }[]): boolean {
  return a.length === b.length && a.every(({ name, type }, i) => name === b[i]?.name && type === b[i].type);
}

/** Whether the server is not there, or starts, or stops. */
function isAway({ status }: Problem): boolean {
  return status === 0 || status === 503;
}
