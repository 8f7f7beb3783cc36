import type { Problem } from "../rest/problem";
import { store, stored } from "./stored";

const NAME = "authorization";

/** The header by which the server knows who asks; it is kept until the browser's tab is closed. */
class Login {
  authorization = $state<string | null>(stored<string | null>(NAME, null, sessionStorage));
  /** Why the server has refused the last request with 401. */
  problem = $state.raw<Problem | null>(null);

  ask(problem: Problem): void {
    this.problem = problem;
  }

  /** Takes a login that the server has let in. */
  enter(authorization: string): void {
    this.#take(authorization);
  }

  leave(): void {
    this.#take(null);
  }

  #take(authorization: string | null): void {
    this.authorization = authorization;
    this.problem = null;
    store(NAME, authorization, sessionStorage);
  }
}

export const login = new Login();

/** The header for a name and a password. */
export function basic(name: string, password: string): string {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** The header for a token. */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}
