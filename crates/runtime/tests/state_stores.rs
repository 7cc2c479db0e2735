//! Laws of the state stores: both keep the same records, and a buffer is invisible until it is committed.

#![expect(clippy::unwrap_used, reason = "tests stop where something is not as it should be")]

use std::time::Duration;

use proptest::prelude::*;
use stave_block::Sensitivity;
use stave_canon::{Object, Timestamp, Value};
use stave_runtime::database::Database;
use stave_runtime::state::{
    Commit, LABEL_FIELD, MemoryStore, RecordKey, SqliteStore, StateBuffer, StateError, StateStore, Write,
};

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
    /// Whether the step read the record and found none.
    read: bool,
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
    let writes = prop::collection::vec(write, 0..4);
    let step = (0..3_usize, writes, prop::option::of(1..20_u64), prop::bool::weighted(0.2), 0..40_i64)
        .prop_map(|(record, writes, ttl, read, now)| Step { record, writes, ttl, read, now });
    prop::collection::vec(step, 0..12).prop_map(|mut steps: Vec<Step>| {
        steps.sort_by_key(|step| step.now);
        steps
    })
}

async fn look(store: &dyn StateStore, now: i64) -> Vec<Object> {
    let mut records = Vec::new();
    for name in ["r0", "r1", "r2"] {
        records.push(store.load(&key(name), at(now)).await.unwrap().fields);
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
            let path = folder.path().join("stave.sqlite");
            let sqlite = SqliteStore::new(Database::open(&path, "first").unwrap());
            for (number, step) in steps.into_iter().enumerate() {
                let expires_at = step.ttl.map(|ttl| at(step.now).checked_add(Duration::from_secs(ttl)).unwrap());
                let commit = Commit {
                    key: key(&format!("r{}", step.record)),
                    writes: step.writes,
                    read: step.read.then_some(0),
                    by: format!("run/{number}"),
                    at: at(step.now),
                    expires_at,
                };
                let kept = memory.commit(commit.clone()).await.is_ok();
                prop_assert_eq!(sqlite.commit(commit.clone()).await.is_ok(), kept);
                if kept {
                    // A commit that was made is not made again.
                    sqlite.commit(commit.clone()).await.unwrap();
                    memory.commit(commit).await.unwrap();
                }
                prop_assert_eq!(look(&memory, step.now).await, look(&sqlite, step.now).await);
                prop_assert_eq!(look(&memory, step.now + 15).await, look(&sqlite, step.now + 15).await);
            }
            // What was committed is there for the next process too.
            let again = SqliteStore::new(Database::open(&path, "second").unwrap());
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
    store.commit(first.into_commit(None, "one".to_owned()).unwrap()).await.unwrap();
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
    store.commit(buffer.into_commit(Some(10), "one".to_owned()).unwrap()).await.unwrap();
    assert!(!store.load(&key("r"), at(9)).await.unwrap().fields.is_empty());
    assert!(store.load(&key("r"), at(10)).await.unwrap().fields.is_empty());
}

#[test]
fn records_of_two_owners_never_meet() {
    assert_ne!(RecordKey::new("f", "session", "a", "b"), RecordKey::new("f", "session", "a\",\"b", ""));
    assert_ne!(RecordKey::new("f", "session", "s", "k"), RecordKey::new("f", "request", "s", "k"));
}

#[tokio::test]
async fn of_two_steps_that_read_the_same_record_only_the_first_may_write_it() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::new(Database::open(&folder.path().join("stave.sqlite"), "one").unwrap());
    let memory = MemoryStore::new();
    for store in [&sqlite as &dyn StateStore, &memory] {
        let buffers = [StateBuffer::new(store, key("r"), at(0)), StateBuffer::new(store, key("r"), at(0))];
        for buffer in &buffers {
            assert_eq!(buffer.get("n").await.unwrap(), None);
            buffer.set("n".to_owned(), 1.into());
        }
        let [first, second] = buffers;
        store.commit(first.into_commit(None, "one".to_owned()).unwrap()).await.unwrap();
        let lost = store.commit(second.into_commit(None, "two".to_owned()).unwrap()).await;
        assert!(matches!(lost, Err(StateError::Conflict)), "{lost:?}");
        let blind = StateBuffer::new(store, key("r"), at(0));
        blind.set("m".to_owned(), 2.into());
        store.commit(blind.into_commit(None, "three".to_owned()).unwrap()).await.unwrap();
        assert_eq!(store.load(&key("r"), at(0)).await.unwrap().fields.len(), 2);
    }
}

#[tokio::test]
async fn a_record_carries_its_label_and_a_flow_that_is_checked_for_less_cannot_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::new(Database::open(&folder.path().join("stave.sqlite"), "one").unwrap());
    let memory = MemoryStore::new();
    for store in [&sqlite as &dyn StateStore, &memory] {
        let buffer = |label: Sensitivity| StateBuffer::new(store, key("r"), at(0)).labelled(label);
        let written = buffer(Sensitivity::Restricted);
        written.set("n".to_owned(), 1.into());
        store.commit(written.into_commit(None, "one".to_owned()).unwrap()).await.unwrap();
        let reader = buffer(Sensitivity::Private);
        let refused = reader.get("n").await;
        assert!(matches!(refused, Err(StateError::BeyondCheck(Sensitivity::Restricted))), "{refused:?}");
        assert_eq!(reader.beyond_check(), Some(Sensitivity::Restricted));
        let blind = buffer(Sensitivity::Public);
        blind.set("m".to_owned(), 2.into());
        blind.set(LABEL_FIELD.to_owned(), "public".into());
        store.commit(blind.into_commit(None, "two".to_owned()).unwrap()).await.unwrap();
        assert!(buffer(Sensitivity::Public).get("m").await.is_err(), "a label is not lowered by a write");
        let cleared = buffer(Sensitivity::Restricted);
        assert_eq!(cleared.get("n").await.unwrap(), Some(1.into()));
        assert_eq!(cleared.get(LABEL_FIELD).await.unwrap(), None);
        cleared.delete("n".to_owned());
        cleared.delete("m".to_owned());
        store.commit(cleared.into_commit(None, "three".to_owned()).unwrap()).await.unwrap();
        assert_eq!(buffer(Sensitivity::Public).get("n").await.unwrap(), None, "it ends with its fields");
    }
}
