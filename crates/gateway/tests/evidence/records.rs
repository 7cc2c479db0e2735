//! Records: none is lost, none is doubled, and what they add up to.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::Timestamp;
use stave_gateway::database::EvidenceSettings;
use stave_gateway::records::{
    Breakpoint, By, Digest, Durations, Edits, GateDecision, Miss, Money, RecordRetention, RequestOutcome,
    RequestRecord, Stats, StatsQuery,
};
use stave_llm::Usage;

use crate::sample::{NOON, Place, cents, time};

fn record(second: i64, id: usize) -> RequestRecord {
    let start = time(NOON).as_second();
    let mut record =
        RequestRecord::new(Timestamp::from_second(start + second).expect("a time"), format!("req_{id}"));
    record.tenant = Arc::from("acme");
    record.surface = Cow::Borrowed("anthropic_messages");
    record.model_asked = "claude-sonnet-4-6".to_owned();
    record.outcome = RequestOutcome::Answered;
    record.status = 200;
    record.attempts = 1;
    record
}

fn stats(place: &Place, by: By) -> Stats {
    let query = StatsQuery { since: None, until: time("2027-01-01T00:00:00Z"), tenant: None, by, top: 10 };
    place.evidence().sink().stats(&query).expect("the file can be read")
}

fn ids(place: &Place) -> Vec<String> {
    let connection = rusqlite::Connection::open(place.path()).expect("the file can be opened");
    let mut statement = connection.prepare("SELECT id FROM request ORDER BY number").expect("a statement");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("texts")
}

#[test]
fn many_at_once_leave_exactly_one_record_each() {
    let place = Place::new();
    let evidence = place.evidence();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let sink = evidence.sink();
            scope.spawn(move || {
                for index in 0..500 {
                    sink.append(record(index, thread * 500 + usize::try_from(index).expect("small")));
                }
            });
        }
    });
    evidence.flush();
    assert_eq!(evidence.sink().counts().written, 2000);
    assert_eq!(evidence.sink().counts().waiting, 0);
    let mut found = ids(&place);
    found.sort();
    let mut expected: Vec<String> = (0..2000).map(|id| format!("req_{id}")).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn closing_the_file_writes_what_waits() {
    let place = Place::new();
    let evidence = place
        .evidence_with(EvidenceSettings { gather: Duration::from_secs(3600), ..EvidenceSettings::default() });
    evidence.sink().append(record(0, 1));
    drop(evidence);
    assert_eq!(ids(&place), ["req_1"]);
}

#[test]
fn a_file_that_is_locked_costs_no_record_and_keeps_new_requests_waiting() {
    let place = Place::new();
    let evidence = place.evidence_with(EvidenceSettings {
        gather: Duration::from_millis(1),
        queue: 8,
        ..EvidenceSettings::default()
    });
    let blocker = rusqlite::Connection::open(place.path()).expect("the file can be opened");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("the lock is free");
    let sink = evidence.sink();
    for id in 0..8 {
        assert!(sink.has_room());
        sink.append(record(0, id));
    }
    assert!(!sink.has_room());
    assert_eq!(sink.counts().times_full, 1);
    // A request under way still leaves its record.
    sink.append(record(0, 8));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let room = async |wait| tokio::time::timeout(wait, sink.room()).await;
    let waited = runtime.block_on(room(Duration::from_millis(50)));
    assert!(waited.is_err(), "there is no room while the file is locked");
    blocker.execute_batch("COMMIT").expect("the lock is given back");
    runtime.block_on(room(Duration::from_secs(30))).expect("there is room again");
    evidence.flush();
    assert_eq!(ids(&place).len(), 9);
}

#[test]
fn everything_of_a_record_is_kept() {
    let place = Place::new();
    let evidence = place.evidence();
    let mut whole = record(0, 1);
    whole.key = Some(Arc::from("0011aabbccdd"));
    whole.session = Some("5e55".to_owned());
    whole.upstream = Some(Arc::from("anthropic"));
    whole.model_used = Some(Arc::from("claude-sonnet-4-6"));
    whole.streamed = true;
    whole.request_hash = Some(Digest::of(b"request"));
    whole.response_hash = Some(Digest::of(b"response"));
    whole.usage = Usage {
        input: 100,
        output: 7,
        cache_read: 60,
        cache_write: 30,
        cache_write_1h: 10,
        ..Usage::default()
    };
    whole.money = Money { spent: Some(cents(2)), as_sent: Some(cents(5)) };
    whole.breakpoints = vec![Breakpoint { position: 3, long: true }, Breakpoint { position: 9, long: false }];
    whole.miss = Some(Miss {
        place: Cow::Borrowed("system[0]"),
        variable: Some("clock"),
        common_tokens: 10,
        lost_tokens: 80,
        block: None,
        block_before: None,
    });
    whole.gates = vec![GateDecision {
        action: "redact".into(),
        rule: "email".into(),
        places: 2,
        field: "input".into(),
        is_policy: false,
    }];
    whole.durations = Durations { total: Duration::from_millis(3), ..Durations::default() };
    evidence.sink().append(whole);
    let mut long = record(1, 2);
    long.model_asked = "é".repeat(5000);
    evidence.sink().append(long);
    evidence.flush();
    let connection = rusqlite::Connection::open(place.path()).expect("the file can be opened");
    let row: (String, String, i64, i64, String, i64, Vec<u8>) = connection
        .query_row(
            "SELECT breakpoints, gates, money, money_as_sent, miss_place, total_us, request_hash FROM request",
            [],
            |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
            },
        )
        .expect("a row");
    let expected = (
        "3:1h 9:5m".to_owned(),
        r#"[{"action":"redact","rule":"email","places":2,"field":"input","policy":false}]"#.to_owned(),
        20_000_000,
        50_000_000,
        "system[0]".to_owned(),
        3000,
        Digest::of(b"request").0.to_vec(),
    );
    assert_eq!(row, expected);
    let name: String = connection
        .query_row("SELECT model_asked FROM request WHERE id = 'req_2'", [], |row| row.get(0))
        .expect("a row");
    assert_eq!(name, format!("{}…", "é".repeat(128)));
}

#[test]
fn sums_groups_series_and_misses_add_up() {
    let place = Place::new();
    let evidence = place.evidence();
    for index in 0..100_i64 {
        let mut one = record(index * 60, usize::try_from(index).expect("small"));
        one.session = Some(format!("session{}", index % 3));
        one.model_used = Some(Arc::from(if index % 2 == 0 { "sonnet" } else { "haiku" }));
        one.usage = Usage { input: 1000, output: 10, cache_read: 600, cache_write: 100, ..Usage::default() };
        one.money = Money { spent: Some(cents(1)), as_sent: Some(cents(3)) };
        one.durations.total = Duration::from_micros(index.unsigned_abs() + 1);
        if index % 10 == 0 {
            one.miss = Some(Miss {
                place: Cow::Borrowed("system[0]"),
                variable: Some("clock"),
                common_tokens: 5,
                lost_tokens: 100,
                block: None,
                block_before: None,
            });
        }
        if index == 99 {
            one.outcome = RequestOutcome::Failed;
            one.money = Money::default();
            one.usage = Usage::default();
            one.failed_open = Some(Cow::Borrowed("plan"));
        }
        evidence.sink().append(one);
    }
    evidence.flush();
    let stats = stats(&place, By::Model);
    assert_eq!((stats.total.requests, stats.total.answered, stats.total.failed), (100, 99, 1));
    assert_eq!((stats.total.spent, stats.total.saved), (990_000_000, 1_980_000_000));
    assert_eq!(stats.total.hit_rate(), Some(0.6));
    let groups: Vec<(&str, u64)> =
        stats.groups.iter().map(|group| (group.name.as_str(), group.sums.requests)).collect();
    assert_eq!(groups, [("sonnet", 50), ("haiku", 50)]);
    assert_eq!(stats.group_count, 2);
    assert_eq!(stats.sessions.len(), 3);
    assert_eq!(stats.series.iter().map(|bucket| bucket.sums.requests).sum::<u64>(), 100);
    assert!(
        stats
            .series
            .windows(2)
            .all(|pair| { pair[1].start.as_second() - pair[0].start.as_second() == stats.bucket_seconds })
    );
    assert_eq!(
        (stats.misses[0].place.as_str(), stats.misses[0].requests, stats.misses[0].lost_tokens),
        ("system[0]", 10, 1000)
    );
    assert_eq!(stats.failed_open, [("plan".to_owned(), 1)]);
    assert_eq!((stats.latency.total_p50, stats.latency.total_p99), (50, 99));
    let value = stats.to_value();
    assert_eq!(value.get("total").and_then(|total| total.get("spent_usd")), Some(&"0.990000000".into()));
}

#[test]
fn the_records_of_one_tenant_are_counted_alone() {
    let place = Place::new();
    let evidence = place.evidence();
    for (id, tenant) in ["acme", "globex", "globex"].into_iter().enumerate() {
        let mut record = record(id as i64, id);
        record.tenant = Arc::from(tenant);
        record.session = Some(format!("of {tenant}"));
        evidence.sink().append(record);
    }
    drop(evidence);
    let until = time("2027-01-01T00:00:00Z");
    let tenant = Some("globex".to_owned());
    let query = StatsQuery { since: None, until, tenant, by: By::Session, top: 10 };
    let stats = Stats::of_file(&place.path(), &query).expect("the file can be read");
    assert_eq!((stats.total.requests, stats.group_count, stats.series.len()), (2, 1, 2));
    assert!(stats.groups.iter().chain(&stats.sessions).all(|group| group.name == "of globex"), "{stats:?}");
}

#[test]
fn nothing_comes_to_nothing() {
    let place = Place::new();
    let stats = stats(&place, By::Key);
    assert_eq!(stats.total, Default::default());
    assert_eq!((stats.series.len(), stats.groups.len()), (0, 0));
}

#[test]
fn what_is_too_old_goes_and_what_is_not_stays() {
    let place = Place::new();
    let evidence = place.evidence_with(EvidenceSettings {
        gather: Duration::from_millis(1),
        retention: RecordRetention { max_age: Duration::from_secs(1000), max_bytes: 1 << 30 },
        ..EvidenceSettings::default()
    });
    for second in [-5000, -1001, -999, 0] {
        evidence.sink().append(record(second, usize::try_from(second + 5000).expect("small")));
    }
    evidence.flush();
    for _ in 0..200 {
        if ids(&place) == ["req_4001", "req_5000"] {
            return;
        }
        // Each write is followed by a look at what is too old.
        evidence.sink().append(record(0, 5000));
        evidence.flush();
        let connection = rusqlite::Connection::open(place.path()).expect("the file can be opened");
        connection.busy_timeout(Duration::from_secs(5)).expect("a timeout");
        connection
            .execute("DELETE FROM request WHERE id = 'req_5000' AND number > 4", [])
            .expect("the file can be written");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("old records stayed: {:?}", ids(&place));
}

#[test]
fn a_file_that_grows_too_large_loses_its_oldest_records() {
    let place = Place::new();
    let evidence = place.evidence_with(EvidenceSettings {
        gather: Duration::from_millis(1),
        retention: RecordRetention { max_age: Duration::from_secs(1_000_000), max_bytes: 300_000 },
        ..EvidenceSettings::default()
    });
    for index in 0..30_000 {
        evidence.sink().append(record(index, usize::try_from(index).expect("small")));
    }
    evidence.flush();
    for _ in 0..500 {
        let left = ids(&place);
        if left.len() < 30_000 {
            // The newest ones are those that stay, unless all had to go.
            assert!(left.last().is_none_or(|id| id == "req_29999"), "{:?}", left.last());
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the file was not made smaller");
}

#[test]
fn a_file_of_the_first_version_is_brought_up_to_date() {
    let place = Place::new();
    drop(place.evidence());
    let connection = rusqlite::Connection::open(place.path()).expect("the file can be opened");
    connection
        .execute_batch(
            "ALTER TABLE request DROP COLUMN edits; ALTER TABLE request DROP COLUMN blocks;
             ALTER TABLE request DROP COLUMN miss_block; ALTER TABLE request DROP COLUMN miss_block_before;
             DROP TABLE key_hold; PRAGMA user_version = 1;",
        )
        .expect("the file is as the first version made it");
    drop(connection);
    let evidence = place.evidence();
    let mut edited = record(0, 1);
    edited.edits = Edits::read(r#"[[1,1,"x"]]"#);
    evidence.sink().append(edited);
    evidence.flush();
    assert_eq!(ids(&place), ["req_1"]);
    let connection = rusqlite::Connection::open(place.path()).expect("the file can be opened");
    let edits: String =
        connection.query_row("SELECT edits FROM request", [], |row| row.get(0)).expect("a row");
    assert_eq!(edits, r#"[[1,1,"x"]]"#);
}
