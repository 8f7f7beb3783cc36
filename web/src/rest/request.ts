// Requests to the server that has sent the page.
import { login } from "../state/login.svelte";
import { asProblem, isEnded, Problem, problemOf } from "./problem";

/** The page is at …/ui/, the endpoints are beside it. */
const BASE = new URL("..", location.href.replace(/#.*/, ""));

export interface Options {
  body?: unknown;
  accept?: string;
  signal?: AbortSignal;
}

/** Sends a request; raises Problem for an answer that is an error, and for none. */
export async function send(path: string, { body, accept = "application/json", signal }: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept };
  if (login.authorization) headers["Authorization"] = login.authorization;
  // Without credentials of its own the browser does not ask for a password in a window of its own.
  const init: RequestInit = { headers, credentials: "omit", cache: "no-store" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(init, { method: "POST", body: JSON.stringify(body) });
  }
  if (signal) init.signal = signal;
  let answer: Response;
  try {
    answer = await fetch(new URL(path, BASE), init);
  } catch (error) {
    throw isEnded(error) ? error : asProblem(error);
  }
  if (answer.ok) return answer;
  const problem = problemOf(await answer.json().catch(() => null), answer.status);
  if (answer.status === 401) login.ask(problem);
  throw problem;
}

/** The JSON of an answer. */
export async function ask<T>(path: string, options?: Options): Promise<T> {
  const answer = await send(path, options);
  try {
    return (await answer.json()) as T;
  } catch (error) {
    if (isEnded(error)) throw error;
    // It is cut off, or a page of a proxy.
    throw new Problem("the answer of the server is no JSON, or is not whole", "http", answer.status);
  }
}
