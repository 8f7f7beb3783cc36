// crates.io `ksqldb`: the task is on standard input, the answers go to standard output.

use std::collections::HashMap;
use std::{fs, io};

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use futures_util::StreamExt;
use ksqldb::{Error, KsqlDB};
use reqwest::header::{HeaderMap, HeaderValue, AUTHORIZATION};
use reqwest::{Certificate, Client};
use serde_json::{json, Value};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;
type Properties = HashMap<String, String>;

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn all(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn earliest() -> Properties {
    HashMap::from([("auto.offset.reset".into(), "earliest".into())])
}

fn connect(task: &Value) -> Fallible<KsqlDB> {
    let (scheme, place) = text(&task["url"]).split_once("://").expect("a URL");
    let mut builder = Client::builder();
    if let Some(file) = task["ca"].as_str() {
        let login = STANDARD.encode(format!("{}:{}", text(&task["user"]), text(&task["password"])));
        let value = HeaderValue::from_str(&format!("Basic {login}"))?;
        builder = builder
            .add_root_certificate(Certificate::from_pem(&fs::read(file)?)?)
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, value)]));
    }
    Ok(KsqlDB::new(place.into(), builder, scheme == "https")?)
}

async fn ask(client: &KsqlDB, sql: &str) -> Fallible<Vec<Value>> {
    Ok(client.execute_statement(sql, &earliest(), None).await?)
}

/// A row, of which the client writes the names of the columns in lower case.
fn raised(row: Value) -> Value {
    let Value::Object(columns) = row else { panic!("no row: {row}") };
    columns.into_iter().map(|(name, value)| (name.to_uppercase(), value)).collect()
}

/// Rows until the end of the query. `begun` is done when it has begun, and `came` with the number of each row.
async fn queried(
    client: &KsqlDB,
    sql: &str,
    properties: &Properties,
    begun: impl AsyncFnOnce() -> Fallible<()>,
    came: impl AsyncFn(usize) -> Fallible<()>,
) -> Fallible<Vec<Value>> {
    let mut stream = Box::pin(client.query::<Value>(sql, properties).await?);
    begun().await?;
    let mut rows = vec![];
    while let Some(row) = stream.next().await {
        match row {
            Ok(row) => rows.push(raised(row)),
            Err(Error::Json(e)) if e.is_eof() => break, // it takes the end of the body for a row
            Err(e) => return Err(e.into()),
        }
        came(rows.len()).await?;
    }
    Ok(rows)
}

async fn finished(client: &KsqlDB, sql: &str, properties: &Properties) -> Fallible<Vec<Value>> {
    queried(client, sql, properties, async || Ok(()), async |_| Ok(())).await
}

/// The client keeps the header with the query's id to itself, so the query is found in the list.
async fn terminate(client: &KsqlDB, sql: &str) -> Fallible<()> {
    let listed = ask(client, "SHOW QUERIES;").await?;
    let found = all(&listed[0]["queries"]).iter().find(|q| q["queryString"] == sql).expect("the query");
    client.terminate(&format!("TERMINATE {};", text(&found["id"])), &Properties::new(), None).await?;
    Ok(())
}

async fn live(client: &KsqlDB, task: &Value) -> Fallible<Vec<Value>> {
    let (sql, count) = (text(&task["live"]["sql"]), task["live"]["count"].as_u64());
    let begun = async || {
        for insert in all(&task["inserts"]) {
            ask(client, text(insert)).await?;
        }
        Ok(())
    };
    let came = async |rows| if Some(rows as u64) == count { terminate(client, sql).await } else { Ok(()) };
    queried(client, sql, &earliest(), begun, came).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Fallible<()> {
    let task: Value = serde_json::from_reader(io::stdin())?;
    let client = connect(&task)?;
    for statement in all(&task["statements"]) {
        client.create(text(statement), &earliest(), None).await?;
    }
    // It expects descriptions, which only the extended list has.
    let listed = client.list_streams("SHOW STREAMS EXTENDED;", &Properties::new(), None).await?;
    let streams: Vec<&String> = listed[0].source_descriptions.iter().map(|s| &s.name).collect();
    let live = live(&client, &task).await?;
    let limited = finished(&client, text(&task["limited"]["sql"]), &earliest()).await?;
    let mut pulls = vec![];
    for pull in all(&task["pulls"]) {
        let sql = text(&pull["sql"]);
        pulls.push([
            finished(&client, sql, &Properties::new()).await?,
            finished(&client, sql, &Properties::new()).await?,
        ]);
    }
    let refused = match client.drop(text(&task["refused"]["sql"]), &Properties::new(), None).await {
        Err(Error::KSQL(e)) => e.message.unwrap_or_default(),
        other => format!("not refused: {other:?}"),
    };
    println!(
        "{}",
        json!({"streams": streams, "live": live, "limited": limited, "pulls": pulls, "refused": refused})
    );
    Ok(())
}
