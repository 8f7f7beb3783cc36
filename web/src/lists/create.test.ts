import { expect, test } from "vitest";
import { createStatement } from "./create";

test("columns come from the fields of the records", () => {
  const lines = [
    "Key format: KAFKA_STRING",
    "Value format: JSON or KAFKA_STRING",
    'rowtime: 2026/11/30 12:00:00.000 Z, key: Oslo, value: {"id":1,"fare":12.5,"tags":["a"],"at":{"x":1}}, partition: 0',
    'rowtime: 2026/11/30 12:00:00.000 Z, key: Oslo, value: {"id":2.5,"fare":7,"my name":null}, partition: 0',
  ];
  const made = createStatement("the-rides", lines);
  expect(made).toContain("CREATE STREAM `THE_RIDES`");
  for (const column of ["k STRING KEY", "`ID` DOUBLE", "`FARE` DOUBLE", "`TAGS` ARRAY<STRING>", "`AT` STRUCT<`X` BIGINT>", "`my name` STRING"]) {
    expect(made).toContain(column);
  }
  expect(made).toContain("KAFKA_TOPIC = 'the-rides', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON'");
});

test("a topic with no record has no columns", () => {
  expect(createStatement("t", [])).toContain("CREATE STREAM `T`\n  WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');");
});

test.each([
  ['{"n":7.00}', "DOUBLE"], // others have 7.50
  ['{"n":9223372036854775807}', "BIGINT"],
  ['{"n":9223372036854775808}', "DECIMAL(38, 0)"],
  ['{"n":1e3}', "DOUBLE"],
])("the number of %s is a %s", (record, type) => {
  expect(createStatement("t", [`rowtime: x, key: k, value: ${record}, partition: 0`])).toContain(`\`N\` ${type}`);
});
