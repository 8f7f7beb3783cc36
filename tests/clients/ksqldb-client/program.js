// npm `ksqldb-client`: the task is on standard input, the answers go to standard output.

const { readFileSync } = require("node:fs");
const KsqldbClient = require("ksqldb-client");

const EARLIEST = { "auto.offset.reset": "earliest" };
const task = JSON.parse(readFileSync(0, "utf8"));
const url = new URL(task.url);
const ssl = task.ca && { ca: readFileSync(task.ca, "utf8") };
const client = new KsqldbClient({ host: `${url.protocol}//${url.hostname}`, port: url.port, authorization: { ssl } });

const right = (answer) => {
  if (answer.error) throw new Error(JSON.stringify(answer.error));
  return answer;
};

// executeStatement() takes no answer without an entity, and INSERT has none, in ksqlDB as here.
const login = task.user && { authorization: `Basic ${btoa(`${task.user}:${task.password}`)}` };
const insert = (sql) =>
  fetch(`${task.url}/ksql`, { method: "POST", headers: { ...login }, body: JSON.stringify({ ksql: sql }) });

async function streamed(sql, more, onRow = () => {}) {
  const rows = [];
  let begun = false;
  const callback = (data) => {
    const first = !begun;
    begun = true;
    rows.push(...(data.rows ?? []));
    onRow(first, rows.length, data.metadata);
  };
  right(await client.streamQuery(sql, callback, more));
  return rows;
}

async function live() {
  let working = Promise.resolve();
  const then = (what) => (working = working.then(what));
  const rows = await streamed(task.live.sql, {}, (first, count, { queryId }) => {
    if (first) task.inserts.forEach((sql) => then(() => insert(sql)));
    if (count === task.live.count) then(async () => right(await client.terminatePushQuery(queryId)));
  });
  await working;
  return rows;
}

async function main() {
  await client.connect();
  for (const sql of task.statements) right(await client.executeStatement(sql, { streamsProperties: EARLIEST }));
  const answers = { streams: (await client.listStreams()).map((s) => s.name) };
  answers.live = await live();
  answers.limited = await streamed(task.limited.sql, { properties: EARLIEST });
  answers.pulls = [];
  for (const { sql } of task.pulls) {
    answers.pulls.push([right(await client.query(sql)).data.rows, await streamed(sql)]);
  }
  answers.refused = (await client.executeStatement(task.refused.sql)).error.message;
  const { target, rows, bad } = task.stream;
  answers.inserted = [];
  for (const row of rows) answers.inserted.push(...right(await client.insertInto(target, row)).data.rows);
  answers.bad = (await client.insertInto(target, bad)).error;
  await client.disconnect();
  console.log(JSON.stringify(answers));
}

main();
