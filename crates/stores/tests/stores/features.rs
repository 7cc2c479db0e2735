//! Features of any store: a read never sees what was not known yet.

use std::collections::HashMap;
use std::sync::Arc;

use mysql_async::prelude::Queryable;
use stave_canon::{Object, Timestamp, Value};
use stave_runtime::database::Database;
use stave_runtime::features::{
    EmbeddedFeatures, FeatureBatch, FeatureError, FeatureGroup, FeatureQuery, FeatureStore, ModelQuery,
};
use stave_stores::{Mysql, MysqlFeatures};

use super::server;

fn time(day: u32) -> Timestamp {
    format!("2026-03-{day:02}T12:00:00Z").parse().unwrap()
}

fn object(text: &str) -> Object {
    stave_canon::parse(text).unwrap().as_object().unwrap().clone()
}

fn query(key: impl Into<Value>, as_of: Timestamp) -> FeatureQuery {
    FeatureQuery { name: "customers".to_owned(), version: None, key: key.into(), as_of, features: Vec::new() }
}

fn batch(day: u32, rows: &[&str]) -> FeatureBatch {
    FeatureBatch {
        name: "customers".to_owned(),
        version: None,
        rows: rows.iter().map(|row| object(row)).collect(),
        event_time: time(day),
    }
}

async fn age(store: &dyn FeatureStore, key: impl Into<Value>, as_of: Timestamp) -> Option<i64> {
    match store.read(&query(key, as_of)).await {
        Ok(row) => row.get("age").and_then(Value::as_i64),
        Err(error) if error.is_absence() => None,
        Err(error) => panic!("{error}"),
    }
}

/// Holds a store that keeps history to what a point in time means.
async fn keeps_history(store: &dyn FeatureStore) {
    // Written out of order: what counts is when it was known, not when it was written.
    for (day, age) in [(10, 30), (5, 20), (20, 40)] {
        let row = format!(r#"{{"id":7,"age":{age}}}"#);
        assert_eq!(store.write(batch(day, &[&row])).await, Ok(1));
    }
    store.write(batch(1, &[r#"{"id":8,"age":99}"#])).await.unwrap();
    assert_eq!(age(store, 7, time(4)).await, None);
    assert_eq!(age(store, 7, time(5)).await, Some(20));
    assert_eq!(age(store, 7, time(9)).await, Some(20));
    assert_eq!(age(store, "7", time(10)).await, Some(30));
    assert_eq!(age(store, 7, time(31)).await, Some(40));
    let by_column: Value = object(r#"{"id":7}"#).into();
    assert_eq!(age(store, by_column, time(31)).await, Some(40));
    // The same write again changes nothing; another value for the same time replaces it.
    store.write(batch(5, &[r#"{"id":7,"age":20}"#])).await.unwrap();
    store.write(batch(10, &[r#"{"id":7,"age":31}"#])).await.unwrap();
    assert_eq!(age(store, 7, time(11)).await, Some(31));
    // A row may bring its own time.
    store.write(batch(31, &[r#"{"id":7,"age":25,"event_time":"2026-03-07T12:00:00Z"}"#])).await.unwrap();
    assert_eq!(age(store, 7, time(8)).await, Some(25));
    let mut only = query(7, time(31));
    only.features = vec!["age".to_owned()];
    assert_eq!(store.read(&only).await.unwrap(), object(r#"{"age":40}"#));
    only.features = vec!["height".to_owned()];
    let missing = store.read(&only).await.unwrap_err();
    assert!(matches!(missing, FeatureError::UnknownFeature { .. }), "{missing}");
    let mut unknown = query(7, time(31));
    unknown.name = "nothing".to_owned();
    assert_eq!(store.read(&unknown).await, Err(FeatureError::UnknownName("nothing".to_owned())));
    // A batch with a bad row writes none of its rows.
    let half = store.write(batch(25, &[r#"{"id":7,"age":77}"#, r#"{"age":1}"#])).await.unwrap_err();
    assert!(matches!(half, FeatureError::BadRow { number: 2, .. }), "{half}");
    assert_eq!(age(store, 7, time(31)).await, Some(40));
}

fn group() -> FeatureGroup {
    FeatureGroup { key: vec!["id".to_owned()], event_time: None }
}

#[tokio::test]
async fn the_embedded_store_answers_as_of_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stave.sqlite");
    let open = |owner: &str| {
        let mut store = EmbeddedFeatures::new().with_database(Database::open(&path, owner).unwrap());
        store.define("customers", group());
        store
    };
    keeps_history(&open("one")).await;
    // Rows outlive the process, beside rows of files.
    let mut again = open("two");
    let row = group().row(object(r#"{"id":7,"age":28}"#), Some(time(8))).unwrap();
    again.insert("customers", [row]);
    assert_eq!(age(&again, 7, time(7)).await, Some(25));
    assert_eq!(age(&again, 7, time(9)).await, Some(28));
    assert_eq!(age(&again, 7, time(31)).await, Some(40));
}

#[tokio::test]
async fn versions_of_a_group_are_apart() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("stave.sqlite"), "test").unwrap();
    let store = EmbeddedFeatures::new().with_database(database);
    for version in [1, 2] {
        let row = object(&format!(r#"{{"key":"c","age":{version}}}"#));
        let batch = FeatureBatch { version: Some(version), rows: vec![row], ..batch(1, &[]) };
        store.write(batch).await.unwrap();
    }
    assert_eq!(age(&store, "c", time(2)).await, Some(2));
    let first = FeatureQuery { version: Some(1), ..query("c", time(2)) };
    assert_eq!(store.read(&first).await.unwrap(), object(r#"{"age":1}"#));
    let third = FeatureQuery { version: Some(3), ..query("c", time(2)) };
    assert!(store.read(&third).await.unwrap_err().is_absence());
}

#[tokio::test]
async fn a_registry_gives_the_latest_model_or_the_one_that_is_named() {
    let mut store = EmbeddedFeatures::new();
    for version in [3, 12] {
        store.insert_model("churn", version, object(&format!(r#"{{"version":{version}}}"#)));
    }
    let model = |version| ModelQuery { name: "churn".to_owned(), version };
    assert_eq!(store.model(&model(None)).await.unwrap(), object(r#"{"version":12}"#));
    assert_eq!(store.model(&model(Some(3))).await.unwrap(), object(r#"{"version":3}"#));
    assert!(store.model(&model(Some(4))).await.unwrap_err().to_string().contains("no version 4"));
    let other = ModelQuery { name: "other".to_owned(), version: None };
    assert_eq!(store.model(&other).await, Err(FeatureError::UnknownModel("other".to_owned())));
}

async fn statements(address: &str, statements: &[&str]) {
    let pool = mysql_async::Pool::new(address);
    let mut connection = pool.get_conn().await.unwrap();
    for statement in statements {
        connection.query_drop(*statement).await.unwrap();
    }
}

#[tokio::test]
async fn mariadb_answers_as_of_a_time() {
    let server = server::mariadb();
    statements(
        &server.address,
        &[
            "CREATE TABLE customers (id BIGINT, event_time DATETIME(6), age INT, PRIMARY KEY (id, event_time))",
            "CREATE TABLE newest (id BIGINT PRIMARY KEY, event_time DATETIME(6), age INT)",
            "CREATE TABLE kinds_2 (a VARCHAR(20), b INT, event_time BIGINT, price DECIMAL(12,2), flag BOOL,
                note TEXT, extra JSON, seen TIMESTAMP(6) NULL, share FLOAT, PRIMARY KEY (a, b, event_time))",
        ],
    )
    .await;
    let models = Arc::new(EmbeddedFeatures::new());
    let store = MysqlFeatures::new(Mysql::new(&server.address).unwrap(), HashMap::new(), models);
    keeps_history(&store).await;
    a_table_of_newest_rows_hides_what_was_not_known_yet(&store).await;
    values_keep_their_kinds(&store).await;
}

async fn a_table_of_newest_rows_hides_what_was_not_known_yet(store: &dyn FeatureStore) {
    let named = |batch: FeatureBatch| FeatureBatch { name: "newest".to_owned(), ..batch };
    let read = async |day| {
        let query = FeatureQuery { name: "newest".to_owned(), ..query(7, time(day)) };
        match store.read(&query).await {
            Ok(row) => row.get("age").and_then(Value::as_i64),
            Err(error) => {
                assert!(error.is_absence(), "{error}");
                None
            }
        }
    };
    store.write(named(batch(10, &[r#"{"id":7,"age":30}"#]))).await.unwrap();
    // An older row does not take the place of a newer one.
    store.write(named(batch(5, &[r#"{"id":7,"age":20}"#]))).await.unwrap();
    assert_eq!((read(9).await, read(10).await), (None, Some(30)));
    store.write(named(batch(20, &[r#"{"id":7,"age":40}"#]))).await.unwrap();
    assert_eq!((read(19).await, read(20).await), (None, Some(40)));
}

async fn values_keep_their_kinds(store: &dyn FeatureStore) {
    let row = r#"{"a":"x`y","b":3,"price":12.50,"flag":true,"note":"ü 😀","extra":{"k":[1,2]},"seen":"2026-01-02T03:04:05.5Z","share":0.1}"#;
    let batch = FeatureBatch { name: "kinds".to_owned(), ..batch(5, &[row]) };
    store.write(batch).await.unwrap();
    let key: Value = object(r#"{"b":3,"a":"x`y"}"#).into();
    let mut query = FeatureQuery { name: "kinds".to_owned(), version: Some(2), ..query(key, time(6)) };
    let read = store.read(&query).await.unwrap();
    assert_eq!(read, object(row));
    query.as_of = time(4);
    assert!(store.read(&query).await.unwrap_err().is_absence());
    query.key = "x".into();
    let short = store.read(&query).await.unwrap_err().to_string();
    assert!(short.contains("a, b"), "{short}");
}
