//! What every state store promises.

use std::sync::Arc;
use std::time::Duration;

use stave_canon::{Object, Timestamp, Value};
use stave_runtime::state::{Commit, RecordKey, StateError, StateStore, Write};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn key(name: &str) -> RecordKey {
    RecordKey::new("flow", "session", name, "node")
}

fn set(field: &str, value: impl Into<Value>) -> Write {
    Write::Set(field.to_owned(), value.into())
}

fn commit(name: &str, by: &str, read: Option<i64>, writes: Vec<Write>) -> Commit {
    Commit { key: key(name), writes, read, by: by.to_owned(), at: at(0), expires_at: None }
}

async fn fields(store: &dyn StateStore, name: &str, now: Timestamp) -> Object {
    store.load(&key(name), now).await.unwrap().fields
}

fn object(text: &str) -> Object {
    stave_canon::parse(text).unwrap().as_object().unwrap().clone()
}

/// Holds a store to all of it.
pub(crate) async fn holds(store: Arc<dyn StateStore>) {
    writes_are_read_back(&*store).await;
    a_commit_is_made_once(&*store).await;
    a_record_that_changed_is_a_conflict(&*store).await;
    a_record_ends_with_its_time(&*store).await;
    keys_that_differ_in_case_are_two_records(&*store).await;
    a_history_that_grows_and_shrinks_is_read_back(&*store).await;
    parallel_writers_lose_nothing(&store).await;
    parallel_readers_that_write_lose_nothing(&store).await;
}

async fn writes_are_read_back(store: &dyn StateStore) {
    assert_eq!(fields(store, "plain", at(0)).await, Object::new());
    let odd =
        object(r#"{"big":123456789012345678901234567890,"one":1.0,"text":"ü\u0000\n😀","list":[null,true]}"#);
    let writes = odd.iter().map(|(field, value)| set(field, value.clone())).collect();
    store.commit(commit("plain", "r1/a", None, writes)).await.unwrap();
    assert_eq!(fields(store, "plain", at(0)).await, odd);
    let writes = vec![Write::Delete("big".to_owned()), set("one", 2)];
    store.commit(commit("plain", "r1/b", None, writes)).await.unwrap();
    let left = fields(store, "plain", at(0)).await;
    assert_eq!(left.get("one"), Some(&Value::from(2)));
    assert_eq!(left.get("big"), None);
}

async fn a_commit_is_made_once(store: &dyn StateStore) {
    for count in [1, 2] {
        // The second one says something else, to show that it is not made.
        store.commit(commit("once", "r1/a", None, vec![set("n", count)])).await.unwrap();
    }
    assert_eq!(fields(store, "once", at(0)).await, object(r#"{"n":1}"#));
}

async fn a_record_that_changed_is_a_conflict(store: &dyn StateStore) {
    store.commit(commit("race", "r1/a", Some(0), vec![set("n", 1)])).await.unwrap();
    let version = store.load(&key("race"), at(0)).await.unwrap().version;
    store.commit(commit("race", "r2/a", Some(version), vec![set("n", 2)])).await.unwrap();
    let late = store.commit(commit("race", "r3/a", Some(version), vec![set("n", 3)])).await;
    assert!(matches!(late, Err(StateError::Conflict)), "{late:?}");
    let new = store.commit(commit("race", "r4/a", Some(0), vec![set("n", 4)])).await;
    assert!(matches!(new, Err(StateError::Conflict)), "{new:?}");
    assert_eq!(fields(store, "race", at(0)).await, object(r#"{"n":2}"#));
}

async fn a_record_ends_with_its_time(store: &dyn StateStore) {
    let end = Some(at(10));
    let mut first = commit("ends", "r1/a", None, vec![set("n", 1)]);
    first.expires_at = end;
    store.commit(first).await.unwrap();
    assert_eq!(fields(store, "ends", at(9)).await, object(r#"{"n":1}"#));
    assert_eq!(fields(store, "ends", at(10)).await, Object::new());
    let version = store.load(&key("ends"), at(10)).await.unwrap().version;
    assert_eq!(version, 0);
    let mut second = commit("ends", "r2/a", Some(0), vec![set("m", 2)]);
    second.at = at(11);
    store.commit(second).await.unwrap();
    assert_eq!(fields(store, "ends", at(1000)).await, object(r#"{"m":2}"#));
}

async fn a_history_that_grows_and_shrinks_is_read_back(store: &dyn StateStore) {
    let turn = |number: usize| Value::from(format!("{number} {}", "ü€ \\\" ".repeat(40)));
    let mut history: Vec<Value> = Vec::new();
    for step in 0..40_usize {
        if step == 20 {
            history.drain(..12);
        }
        if step == 30 {
            history.truncate(6);
        }
        history.push(turn(step));
        let transcript: String = history.iter().filter_map(Value::as_str).collect();
        let writes = vec![set("history", history.clone()), set("transcript", transcript)];
        let version = store.load(&key("grows"), at(0)).await.unwrap().version;
        store.commit(commit("grows", &format!("r{step}/a"), Some(version), writes)).await.unwrap();
        let read = fields(store, "grows", at(0)).await;
        assert_eq!(read.get("history"), Some(&Value::Array(history.clone())), "step {step}");
        assert_eq!(
            read.get("transcript").and_then(Value::as_str).map(str::len),
            Some(history.iter().filter_map(Value::as_str).map(str::len).sum())
        );
    }
}

async fn keys_that_differ_in_case_are_two_records(store: &dyn StateStore) {
    store.commit(commit("Case", "r1/a", None, vec![set("n", 1)])).await.unwrap();
    assert_eq!(fields(store, "case", at(0)).await, Object::new());
    assert_eq!(fields(store, "Case ", at(0)).await, Object::new());
}

async fn parallel_writers_lose_nothing(store: &Arc<dyn StateStore>) {
    let writers = (0..8).map(|number| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let write = set(&format!("f{number}"), number);
            store.commit(commit("blind", &format!("r{number}/a"), None, vec![write])).await
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap().unwrap();
    }
    assert_eq!(fields(&**store, "blind", at(0)).await.len(), 8);
}

async fn parallel_readers_that_write_lose_nothing(store: &Arc<dyn StateStore>) {
    let turns = (0..6).map(|number| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            loop {
                let record = store.load(&key("count"), at(0)).await.unwrap();
                let n = record.fields.get("n").and_then(Value::as_i64).unwrap_or_default();
                let next =
                    commit("count", &format!("r{number}/a"), Some(record.version), vec![set("n", n + 1)]);
                match store.commit(next).await {
                    Ok(()) => return,
                    Err(StateError::Conflict) => tokio::time::sleep(Duration::from_millis(1)).await,
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for turn in turns.collect::<Vec<_>>() {
        turn.await.unwrap();
    }
    assert_eq!(fields(&**store, "count", at(0)).await, object(r#"{"n":6}"#));
}
