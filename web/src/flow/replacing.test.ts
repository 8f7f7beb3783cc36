import { expect, test } from "vitest";
import { replacing } from "./replacing";

test.each([
  ["CREATE STREAM s AS SELECT * FROM r;", "CREATE OR REPLACE STREAM s AS SELECT * FROM r;"],
  ["create table if not exists t as select 1", "create OR REPLACE table t as select 1;"],
  ["CREATE OR REPLACE STREAM s (x INT);", "CREATE OR REPLACE STREAM s (x INT);"],
  ["-- Rides.\nCREATE SOURCE TABLE t (x INT) ;", "-- Rides.\nCREATE OR REPLACE SOURCE TABLE t (x INT) ;"],
  ["CREATE /* why */ STREAM s (x INT);", "CREATE OR REPLACE /* why */ STREAM s (x INT);"],
  ["INSERT INTO s SELECT * FROM r;", "INSERT INTO s SELECT * FROM r;"],
])("%s becomes %s", (statement, expected) => expect(replacing(statement)).toBe(expected));
