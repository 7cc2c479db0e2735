//! Laws of the state stores: both keep the same records, and a buffer is invisible until it is committed.

use std::time::Duration;

use proptest::prelude::*;
use stave_canon::{Object, Timestamp, Value};
use stave_runtime::state::{Commit, MemoryStore, RecordKey, SqliteStore, StateBuffer, StateStore, Write};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn key(name: &str) -> RecordKey {
    RecordKey::new("flow", "session", "s", name)
}

/// A commit to one of three records at a time, with or without an end, and then a look at all of them.
#[derive(Debug, Clone)]
struct Step {
    record: usize,
    writes: Vec<Write>,
    ttl: Option<u64>,
    now: i64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::from),
        ".*".prop_map(Value::from),
        Just(Value::Null),
        prop::collection::vec(any::<bool>().prop_map(Value::from), 0..3).prop_map(Value::Array),
    ];
    let write = ("[a-c]", prop::option::of(value)).prop_map(|(field, value)| match value {
        Some(value) => Write::Set(field, value),
        None => Write::Delete(field),
    });
    let step = (0..3_usize, prop::collection::vec(write, 0..4), prop::option::of(0..20_u64), 0..40_i64)
        .prop_map(|(record, writes, ttl, now)| Step { record, writes, ttl, now });
    prop::collection::vec(step, 0..12).prop_map(|mut steps: Vec<Step>| {
        steps.sort_by_key(|step| step.now);
        steps
    })
}

async fn look(store: &dyn StateStore, now: i64) -> Vec<Object> {
    let mut records = Vec::new();
    for name in ["r0", "r1", "r2"] {
        records.push(store.load(&key(name), at(now)).await.unwrap());
    }
    records
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_sqlite_keep_the_same_records(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let memory = MemoryStore::new();
            let sqlite = SqliteStore::open(&folder.path().join("state.sqlite")).unwrap();
            for step in steps {
                let expires_at = step.ttl.map(|ttl| at(step.now).checked_add(Duration::from_secs(ttl)).unwrap());
                let commit = Commit { key: key(&format!("r{}", step.record)), writes: step.writes, expires_at };
                memory.commit(commit.clone(), at(step.now)).await.unwrap();
                sqlite.commit(commit, at(step.now)).await.unwrap();
                prop_assert_eq!(look(&memory, step.now).await, look(&sqlite, step.now).await);
                prop_assert_eq!(look(&memory, step.now + 15).await, look(&sqlite, step.now + 15).await);
            }
            // What was committed is there for the next process too.
            let again = SqliteStore::open(&folder.path().join("state.sqlite")).unwrap();
            prop_assert_eq!(look(&again, 40).await, look(&memory, 40).await);
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_buffer_sees_its_own_writes_and_nobody_else_does_until_it_is_committed() {
    let store = MemoryStore::new();
    let first = StateBuffer::new(&store, key("r"), at(0));
    first.set("n".to_owned(), 1.into());
    assert_eq!(first.get("n").await.unwrap(), Some(1.into()));
    let second = StateBuffer::new(&store, key("r"), at(0));
    assert_eq!(second.get("n").await.unwrap(), None);
    first.commit(None).await.unwrap();
    assert_eq!(second.get("n").await.unwrap(), None, "a buffer keeps the record it first read");
    let third = StateBuffer::new(&store, key("r"), at(0));
    assert_eq!(third.get("n").await.unwrap(), Some(1.into()));
    third.delete("n".to_owned());
    assert_eq!(third.get("n").await.unwrap(), None);
    drop(third);
    let fourth = StateBuffer::new(&store, key("r"), at(0));
    assert_eq!(fourth.get("n").await.unwrap(), Some(1.into()), "a dropped buffer leaves no trace");
}

#[tokio::test]
async fn a_record_ends_its_time_after_its_last_write() {
    let store = MemoryStore::new();
    let buffer = StateBuffer::new(&store, key("r"), at(0));
    buffer.set("n".to_owned(), 1.into());
    buffer.commit(Some(10)).await.unwrap();
    assert!(!store.load(&key("r"), at(9)).await.unwrap().is_empty());
    assert!(store.load(&key("r"), at(10)).await.unwrap().is_empty());
}

#[test]
fn records_of_two_owners_never_meet() {
    assert_ne!(RecordKey::new("f", "session", "a", "b"), RecordKey::new("f", "session", "a\",\"b", ""));
    assert_ne!(RecordKey::new("f", "session", "s", "k"), RecordKey::new("f", "request", "s", "k"));
}
