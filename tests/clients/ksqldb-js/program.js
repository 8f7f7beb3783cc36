// npm `ksqldb-js`: the task is on standard input, the answers go to standard output.

const { readFileSync } = require("node:fs");
const Ksqldb = require("ksqldb-js");

const task = JSON.parse(readFileSync(0, "utf8"));
const secure = task.ca && { API: task.user, secret: task.password, httpsAgent: { ca: readFileSync(task.ca) } };
const client = new Ksqldb({ ksqldbURL: task.url, ...secure });

const rowsOf = ([header, ...rows]) =>
  rows.map((row) => Object.fromEntries(header.columnNames.map((name, i) => [name, row[i]])));

// push() tells of each piece, but not of the end. `begun` has the id of the query, `rows` so many rows as are wanted.
function pushed({ sql, count }) {
  const pieces = [];
  let begun;
  const rows = new Promise((resolve, reject) => {
    const take = (piece) => {
      pieces.push(JSON.parse(piece));
      if (pieces.length === 1 + count) resolve(rowsOf(pieces));
    };
    begun = client.push(sql, take);
    begun.catch(reject);
  });
  return { begun, rows };
}

async function main() {
  for (const sql of task.statements) await client.ksql(sql);
  const answers = { streams: (await client.ksql("LIST STREAMS;")).streams.map((s) => s.name) };
  // Both begin ahead of the inserts, as this client cannot ask for what was there before.
  const live = pushed(task.live);
  const limited = pushed(task.limited);
  const queryId = await live.begun;
  await limited.begun;
  for (const sql of task.inserts) await client.ksql(sql);
  answers.live = await live.rows;
  answers.ended = (await client.terminate(queryId)).wasTerminated;
  answers.limited = await limited.rows;
  answers.pulls = [];
  for (const pull of task.pulls) answers.pulls.push([rowsOf(await client.pull(pull.sql)), await pushed(pull).rows]);
  answers.refused = await client.ksql(task.refused.sql).catch((error) => error.message);
  const { target, rows, bad } = task.stream;
  answers.inserted = await client.insertStream(target, rows);
  [answers.bad] = await client.insertStream(target, [bad]);
  console.log(JSON.stringify(answers));
}

main();
