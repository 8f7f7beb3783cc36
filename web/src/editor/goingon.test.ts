import { expect, test } from "vitest";
import { canGoOn } from "./goingon";

test.each([
  ["SELECT * FROM rides EMIT CHANGES;", true],
  ["SELECT id, 'a JOIN b', `limit` FROM rides WHERE fare > 2 -- GROUP BY\n EMIT CHANGES;", true],
  ["SELECT UCASE(city) FROM rides /* LIMIT 3 */ PARTITION BY city EMIT CHANGES;", true],
  ["PRINT rides;", true],
  ["PRINT 'rides' FROM BEGINNING;", false],
  ["SELECT * FROM rides EMIT CHANGES LIMIT 5;", false],
  ["SELECT city, COUNT(*) FROM rides GROUP  BY city EMIT CHANGES;", false],
  ["SELECT * FROM rides r JOIN zones z ON r.zone = z.id EMIT CHANGES;", false],
  ["SELECT id, LAG(fare) FROM rides EMIT CHANGES;", false],
  ["SELECT n FROM (SELECT COUNT(*) AS n FROM rides) EMIT CHANGES;", false],
])("whether %s goes on: %s", (statement, goesOn) => {
  expect(canGoOn(statement)).toBe(goesOn);
});
