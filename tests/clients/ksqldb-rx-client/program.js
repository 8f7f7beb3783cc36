// npm `ksqldb-rx-client`: the task is on standard input, the answers go to standard output.

const { readFileSync } = require("node:fs");
const { KsqlDBClient } = require("ksqldb-rx-client");
const { lastValueFrom, take, toArray } = require("rxjs");

const EARLIEST = { "auto.offset.reset": "earliest" };
const task = JSON.parse(readFileSync(0, "utf8"));
const client = new KsqlDBClient(task.url);

const all = (sql, properties = {}) => lastValueFrom(client.queryStream({ sql, properties }).pipe(toArray()));

async function right(answer) {
  const entities = await answer;
  if (!Array.isArray(entities)) throw new Error(JSON.stringify(entities));
  return entities;
}

// The client keeps the header with the query's id to itself, so the query is found in the list.
async function live() {
  const rows = client.queryStream({ sql: task.live.sql, properties: EARLIEST });
  const ended = lastValueFrom(rows.pipe(toArray()));
  const enough = lastValueFrom(rows.pipe(take(task.live.count)));
  for (const sql of task.inserts) await right(client.statement(sql));
  await enough;
  const [{ queries }] = await right(client.statement("SHOW QUERIES;"));
  const { id } = queries.find((q) => q.queryString === task.live.sql);
  await right(client.statement(`TERMINATE ${id};`));
  return ended;
}

async function main() {
  for (const sql of task.statements) await right(client.statement(sql, { streamsProperties: EARLIEST }));
  const answers = { streams: (await client.listStreams()).streams.map((s) => s.name) };
  answers.live = await live();
  answers.limited = await all(task.limited.sql, EARLIEST);
  answers.pulls = [];
  for (const { sql } of task.pulls) answers.pulls.push([await all(sql), await all(sql)]);
  answers.refused = (await client.statement(task.refused.sql)).message;
  client.close();
  console.log(JSON.stringify(answers));
}

main();
