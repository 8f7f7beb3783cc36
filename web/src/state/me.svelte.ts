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
}

class Me {
  who = $state.raw<WhoAmI | null>(null);
  problem = $state.raw<Problem | null>(null);

  async load(): Promise<void> {
    try {
      this.who = await ask<WhoAmI>("whoami");
      this.problem = null;
    } catch (error) {
      this.who = null;
      this.problem = asProblem(error);
    }
  }
}

export const me = new Me();
