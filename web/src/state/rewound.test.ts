import { expect, test } from "vitest";
import { followed } from "./rewound";

const begun = { since: 1000, most: null };

test("figures of before the rewind say nothing", () => {
  expect(followed(begun, 0, "RUNNING", 2000)).toEqual(begun);
  expect(followed(begun, null, "RECOVERING", 9000)).toEqual(begun);
});

test("the most that was left is kept", () => {
  const read = followed(begun, 500, "RUNNING", 3000);
  expect(read).toEqual({ since: 1000, most: 500 });
  expect(followed({ since: 1000, most: 500 }, 120, "RUNNING", 4000)).toEqual({ since: 1000, most: 500 });
});

test("it is over when nothing is left", () => {
  expect(followed({ since: 1000, most: 500 }, 0, "RUNNING", 7000)).toBeNull();
  expect(followed(begun, 0, "RUNNING", 7000)).toBeNull();
});
