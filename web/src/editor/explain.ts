import { asProblem } from "../rest/problem";
import { check, run, type Session } from "../rest/statements";
import { shown } from "./entities";
import { chosen } from "./places";

export const EXPLAIN = "Explain";

/** The plan of the statement at a place, or why there is none, as text. */
export async function explain(text: string, from: number, to: number, session: Session): Promise<string> {
  try {
    const { statements } = await check(text, session);
    const place = chosen(statements, from, to)[0];
    if (place === undefined) return "There is no statement here.";
    const statement = text.slice(place.start, place.end);
    const asked = /^EXPLAIN\b/i.test(statement) ? statement : `EXPLAIN ${statement}`;
    const [entity] = await run(asked, session);
    return (entity && shown(entity).text) ?? "The server has told no plan.";
  } catch (error) {
    const { message, hint } = asProblem(error);
    return hint ? `${message}\nHint: ${hint}` : message;
  }
}
