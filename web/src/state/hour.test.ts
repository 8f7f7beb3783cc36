import { expect, test } from "vitest";
import { Problem } from "../rest/problem";
import { Hour, type History } from "./hour.svelte";

function asked(...answers: (History | Problem)[]): { hour: Hour; count: () => number } {
  let count = 0;
  const hour = new Hour(async () => {
    const answer = answers[Math.min(count++, answers.length - 1)];
    if (answer instanceof Problem) throw answer;
    return answer as History;
  });
  return { hour, count: () => count };
}

const SOME: History = { times: [1000, 2000], series: { lag: [1, 2], p50: [null, 7] } };

test("the hour goes on with the figures that come", async () => {
  const { hour, count } = asked(SOME);
  await hour.load(0);
  hour.add(2000, { lag: 9 }); // it is there already
  hour.add(3000, { lag: 3, p50: 8, state: "RUNNING" });
  hour.add(4000, { lag: null });
  expect(hour.times).toEqual([1000, 2000, 3000, 4000]);
  expect(hour.series).toEqual({ lag: [1, 2, 3, null], p50: [null, 7, 8, null] });
  expect(count()).toBe(1);
});

test("what is older than an hour goes", async () => {
  const times = Array.from({ length: 3600 }, (_, i) => 1000 * i);
  const { hour } = asked({ times, series: { lag: times } });
  await hour.load(0);
  for (const at of [3_600_000, 3_601_000]) hour.add(at, { lag: at });
  expect([hour.times.length, hour.times[0], hour.series["lag"]?.[0]]).toEqual([3600, 2000, 2000]);
});

test("after a gap, as of a tab out of sight, it is asked for again", async () => {
  const { hour, count } = asked(SOME, { times: [60_000], series: { lag: [5] } });
  await hour.load(0);
  hour.add(61_000, { lag: 6 }, 61_000);
  await Promise.resolve();
  expect(count()).toBe(2);
});

test("a question that fails is asked again when figures come, and not each second", async () => {
  const { hour, count } = asked(new Problem("away", "unreachable", 0), SOME);
  await hour.load(0);
  expect(hour.problem?.code).toBe("unreachable");
  for (const now of [1000, 2000, 3000]) hour.add(now, {}, now);
  expect(count()).toBe(1);
  hour.add(6000, {}, 6000);
  await new Promise((resolve) => setTimeout(resolve));
  expect([count(), hour.problem, hour.times]).toEqual([2, null, [1000, 2000]]);
});
