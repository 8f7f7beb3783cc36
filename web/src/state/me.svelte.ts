// Who asks, and what he may do: GET /whoami.
import { asProblem, type Problem } from "../rest/problem";
import { ask } from "../rest/request";

export interface WhoAmI {
  name: string;
  login: "basic" | "token" | "jwt" | "open";
  roles: string[];
  loginRequired: boolean;
  grants: { rights: string[]; on: string }[];
  may: { create: boolean; operate: boolean; admin: boolean; drop: boolean };
  /** Sample data that he may have loaded into this server. */
  samples: string[];
}

class Me {
  who = $state.raw<WhoAmI | null>(null);
  problem = $state.raw<Problem | null>(null);
  #loading: Promise<void> | null = null;

  /** Asks anew, once however often it is called meanwhile. */
  load(): Promise<void> {
    return (this.#loading ??= this.#load().finally(() => (this.#loading = null)));
  }

  async #load(): Promise<void> {
    try {
      this.who = await ask<WhoAmI>("whoami");
      this.problem = null;
    } catch (error) {
      this.problem = asProblem(error); // who it was is still known: a login may be renewed
    }
  }
}

export const me = new Me();

/** Who would ask by another login; raises Problem where the server does not let it in. */
export function whoBy(authorization: string): Promise<WhoAmI> {
  return ask<WhoAmI>("whoami", { authorization });
}
