import { expect, test } from "vitest";
import { sorted, type Key } from "./sort";

test.each<[Key[], boolean, Key[]]>([
  [[10, 9, null, 100], false, [9, 10, 100, null]],
  [[10, 9, null, 100], true, [100, 10, 9, null]],
  [["Q_10", "Q_9", undefined], false, ["Q_9", "Q_10", undefined]],
])("%j (down: %j)", (keys, down, expected) => expect(sorted(keys, (key) => key, down)).toEqual(expected));
