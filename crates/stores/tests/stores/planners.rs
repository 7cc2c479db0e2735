//! A planner's memory in its stores: incremental, whole after a crash, capped and expiring.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use stave_block::{PlanRequest, Planner, PlannerMemory, PlannerSettings, PlannerStore, StoreLimits, Ttl};
use stave_stores::{RedisPlannerStore, SqlitePlannerStore};

use crate::server;
use crate::wire::request;

fn plan(planner: &mut Planner, prefixes: &[u128], now: f64) -> stave_block::CachePlan {
    planner.plan(&PlanRequest { wire: &request(prefixes), body: "text", session: None, now })
}

fn tracked() -> Planner {
    let mut planner = Planner::new(PlannerSettings::default());
    planner.track_changes();
    planner
}

fn sorted(mut memory: PlannerMemory) -> PlannerMemory {
    memory.nodes.sort_by_key(|node| node.prefix);
    memory.layers.sort_by_key(|layer| (layer.profile, layer.code));
    memory
}

fn on_each_store(check: impl Fn(&mut dyn FnMut() -> Box<dyn PlannerStore>)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("planner.db");
    check(&mut || Box::new(SqlitePlannerStore::open(&path).unwrap()));
    let server = server::redis();
    check(&mut || Box::new(RedisPlannerStore::open(&server.address, "test").unwrap()));
}

#[test]
fn what_is_learned_survives_a_store_batch_by_batch() {
    on_each_store(|open| {
        let mut store = open();
        assert_eq!(store.load().unwrap(), PlannerMemory::default());
        let mut planner = tracked();
        for turn in 0..5_u32 {
            plan(&mut planner, &[1, 2, 3], f64::from(turn) * 30.0);
            let changes = planner.changes(f64::from(turn) * 30.0);
            assert_eq!(changes.nodes.len(), 3, "turn {turn}");
            store.record(&changes).unwrap();
        }
        plan(&mut planner, &[1, 2, 4], 150.0);
        let changes = planner.changes(150.0);
        store.record(&changes).unwrap();
        assert!(planner.changes(150.0).nodes.is_empty(), "a change is reported once");
        // Another process continues from there.
        let kept = sorted(open().load().unwrap());
        assert_eq!(kept.nodes.iter().map(|node| node.prefix).collect::<Vec<_>>(), [1, 2, 3, 4]);
        for node in sorted(changes).nodes {
            assert!(kept.nodes.contains(&node), "{node:?}");
        }
        let mut again = Planner::with_memory(PlannerSettings::default(), &kept, 160.0);
        let resumed = plan(&mut again, &[1, 2, 3], 160.0);
        assert!(resumed.expected.read > 0 && resumed.marks.iter().all(|(_, ttl)| *ttl == Ttl::Short));
        let mut late = Planner::with_memory(PlannerSettings::default(), &kept, 1e6);
        assert_eq!(plan(&mut late, &[1, 2, 3], 1e6).expected.read, 0, "what is too old is forgotten");
    });
}

#[test]
fn what_is_too_old_or_too_much_goes() {
    on_each_store(|open| {
        let mut store = open();
        let mut planner = tracked();
        let limits = StoreLimits { capacity: 40, lifetime_seconds: 500.0, belief_seconds: 1e9 };
        for number in 0..600_u128 {
            let now = number as f64;
            plan(&mut planner, &[number * 2 + 1, number * 2 + 2], now);
            if number % 50 == 49 {
                store.record(&planner.changes(now)).unwrap();
                store.forget(&limits, now).unwrap();
                assert!(store.load().unwrap().nodes.len() <= 40, "request {number}");
            }
        }
        let kept = store.load().unwrap();
        assert_eq!(kept.nodes.len(), 40);
        assert!(kept.nodes.iter().all(|node| node.last_seen >= 580.0), "the youngest stay");
        assert!(!kept.layers.is_empty());
        store.forget(&StoreLimits { belief_seconds: 10.0, ..limits }, 1e6).unwrap();
        let kept = store.load().unwrap();
        assert!(kept.nodes.is_empty() && kept.layers.is_empty());
    });
}

#[test]
fn two_planners_share_a_redis_server_and_other_names_do_not() {
    let server = server::redis();
    let mut first = RedisPlannerStore::open(&server.address, "one").unwrap();
    let mut planner = tracked();
    plan(&mut planner, &[1, 2], 0.0);
    first.record(&planner.changes(0.0)).unwrap();
    assert_eq!(RedisPlannerStore::open(&server.address, "one").unwrap().load().unwrap().nodes.len(), 2);
    assert!(RedisPlannerStore::open(&server.address, "two").unwrap().load().unwrap().nodes.is_empty());
    drop(server);
    assert!(first.load().is_err(), "a server that is gone is an error, not an empty memory");
}

#[test]
fn a_process_that_is_killed_leaves_whole_batches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("planner.db");
    if let Ok(path) = std::env::var("STAVE_TEST_STORE_TO_KILL") {
        return write_for_ever(Path::new(&path));
    }
    for pause in [0, 90, 310] {
        let begun = begun(&path);
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "planners::a_process_that_is_killed_leaves_whole_batches"])
            .env("STAVE_TEST_STORE_TO_KILL", &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !begun.exists() {
            assert_eq!(writer.try_wait().unwrap(), None, "the writer runs until it is killed");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(pause));
        writer.kill().unwrap();
        writer.wait().unwrap();
        std::fs::remove_file(begun).unwrap();
        let kept = sorted(SqlitePlannerStore::open(&path).unwrap().load().unwrap());
        assert!(!kept.nodes.is_empty(), "what was recorded is there");
        assert_eq!(kept.nodes.len() % BATCH, 0, "a batch is stored whole or not at all");
        for (index, node) in kept.nodes.iter().enumerate() {
            assert_eq!(node.prefix, index as u128 + 1, "and in order");
        }
    }
}

/// The file that a writer makes when it has recorded its first batch.
fn begun(path: &Path) -> PathBuf {
    path.with_extension("begun")
}

const BATCH: usize = 7;

/// Records batches of seven prefixes, numbered on, until it is killed.
fn write_for_ever(path: &Path) {
    let mut store = SqlitePlannerStore::open(path).unwrap();
    let mut planner = tracked();
    let stored = store.load().unwrap().nodes.len() as u128;
    for batch in 0_u128.. {
        let first = stored + batch * BATCH as u128 + 1;
        let prefixes: Vec<u128> = (first..first + BATCH as u128).collect();
        plan(&mut planner, &prefixes, batch as f64);
        store.record(&planner.changes(batch as f64)).unwrap();
        if batch == 0 {
            std::fs::write(begun(path), []).unwrap();
        }
    }
}
