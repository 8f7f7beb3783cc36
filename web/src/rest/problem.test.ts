import { expect, test } from "vitest";
import { asProblem, Problem } from "./problem";

test("a fault of the page is not taken for a server that is away", () => {
  const problem = asProblem(new TypeError("rows is undefined"));
  expect([problem.code, problem.message, problem.status]).toEqual(["page", "rows is undefined", 0]);
});

test("a problem stays what it is", () => {
  const problem = new Problem("the server does not answer", "unreachable", 0);
  expect(asProblem(problem)).toBe(problem);
});
