// Requests to the server that has sent the page.
import { login } from "../state/login.svelte";
import { isEnded, Problem, problemOf } from "./problem";

/** The page is at …/ui/, the endpoints are beside it. */
export const BASE = new URL("..", location.href.replace(/#.*/, ""));

export interface Options {
  body?: unknown;
  accept?: string;
  signal?: AbortSignal;
  /** By which login, where it is not the one of the page. */
  authorization?: string;
}

/** Sends a request; raises Problem for an answer that is an error, and for none. */
export async function send(path: string, { body, accept = "application/json", signal, authorization }: Options = {}): Promise<Response> {
  // What goes on by itself does not try a login that is refused again and again: the server counts that.
  if (authorization === undefined && login.problem !== null) throw login.problem;
  const headers: Record<string, string> = { Accept: accept };
  const asked = authorization ?? login.authorization;
  if (asked) headers["Authorization"] = asked;
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
    if (isEnded(error)) throw error;
    throw new Problem("the server does not answer", "unreachable", 0);
  }
  if (answer.ok) return answer;
  const problem = problemOf(await answer.json().catch(() => null), answer.status);
  // An answer to a login that is not the page's any more says nothing of the present one.
  if (answer.status === 401 && asked === login.authorization) login.ask(problem);
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
