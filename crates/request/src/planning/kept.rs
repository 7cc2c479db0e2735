//! Planners whose memory outlives the process: what they learned is in a file for each upstream.
//!
//! Invariant: requests never wait for a file, and nothing that goes wrong with one keeps a planner from planning.
//! What was learned since the last batch is lost when the process is killed, and nothing else.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use stave_block::{
    CachePlan, Counters, PlanRequest, Planner, PlannerMemory, PlannerSettings, PlannerStore, StoreError,
    StoreLimits,
};

use super::{CachePlanner, CachePlanners, PlanningFailed};

/// Opens the file at a path as a store, and makes it when it is not there.
pub type OpenStore = fn(&Path) -> Result<Box<dyn PlannerStore>, StoreError>;

/// How many seconds pass between two batches. What a prefix came to meanwhile is written once.
const BETWEEN_BATCHES: f64 = 60.0;

/// Makes planners that go on where those of an earlier process stopped. Dropping it writes what is left.
#[derive(Debug)]
pub struct KeptPlanners {
    folder: PathBuf,
    open: OpenStore,
    batches: Sender<Message>,
    thread: Option<JoinHandle<()>>,
    /// The file that could not be used first, and why.
    trouble: Arc<Mutex<Option<String>>>,
}

enum Message {
    Batch { store: Arc<Store>, changes: PlannerMemory, now: f64 },
    End,
}

/// A file, and whether a batch for it is on its way.
struct Store {
    file: Mutex<Box<dyn PlannerStore>>,
    is_busy: AtomicBool,
}

#[derive(Debug)]
struct KeptPlanner {
    planner: Planner,
    store: Arc<Store>,
    batches: Sender<Message>,
    written: f64,
    now: f64,
    /// Whether nothing went wrong in the middle of a change.
    is_sound: bool,
}

impl KeptPlanners {
    /// Keeps files in a folder, which is there.
    pub fn start(folder: PathBuf, open: OpenStore) -> std::io::Result<KeptPlanners> {
        let (batches, received) = channel();
        let trouble = Arc::new(Mutex::new(None));
        let told = Arc::clone(&trouble);
        let thread = std::thread::Builder::new()
            .name("stave-planners".to_owned())
            .spawn(move || write(&received, &told))?;
        Ok(KeptPlanners { folder, open, batches, thread: Some(thread), trouble })
    }

    /// Why something is not kept, told once.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn open(&self, upstream: &str, now: f64) -> Result<KeptPlanner, StoreError> {
        let mut file = (self.open)(&self.folder.join(file_name(upstream)))?;
        // An older process may have kept more, or left it long ago.
        file.forget(&StoreLimits::default(), now)?;
        let memory = file.load()?;
        let mut planner = Planner::with_memory(PlannerSettings::default(), &memory, now);
        planner.track_changes();
        let store = Arc::new(Store { file: Mutex::new(file), is_busy: AtomicBool::new(false) });
        Ok(KeptPlanner { planner, store, batches: self.batches.clone(), written: now, now, is_sound: true })
    }
}

impl CachePlanners for KeptPlanners {
    fn planner(&self, upstream: &str, now: f64) -> Box<dyn CachePlanner> {
        match self.open(upstream, now) {
            Ok(planner) => Box::new(planner),
            Err(error) => {
                note(&self.trouble, &error);
                Box::new(Planner::new(PlannerSettings::default()))
            }
        }
    }
}

impl Drop for KeptPlanners {
    fn drop(&mut self) {
        let _ = self.batches.send(Message::End);
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl CachePlanner for KeptPlanner {
    fn plan(&mut self, request: &PlanRequest<'_>) -> Result<CachePlan, PlanningFailed> {
        self.now = self.now.max(request.now);
        Ok(self.change(|planner| planner.plan(request)))
    }

    fn begun(&mut self, plan: &CachePlan, now: f64) {
        self.change(|planner| planner.begun(plan, now));
    }

    fn learn(&mut self, plan: &CachePlan, counters: Counters, now: f64) {
        self.change(|planner| planner.learn(plan, counters, now));
        self.now = self.now.max(now);
        if self.now - self.written >= BETWEEN_BATCHES && !self.store.is_busy.load(Ordering::Acquire) {
            self.send();
        }
    }
}

impl KeptPlanner {
    fn change<T>(&mut self, change: impl FnOnce(&mut Planner) -> T) -> T {
        self.is_sound = false;
        let changed = change(&mut self.planner);
        self.is_sound = true;
        changed
    }

    fn send(&mut self) {
        self.written = self.now;
        self.store.is_busy.store(true, Ordering::Release);
        let changes = self.planner.changes(self.now);
        let store = Arc::clone(&self.store);
        // After the end there is nobody who writes, and nothing to be done about it.
        let _ = self.batches.send(Message::Batch { store, changes, now: self.now });
    }
}

impl Drop for KeptPlanner {
    fn drop(&mut self) {
        // What a planner knew when it failed is not to be relied on.
        if self.is_sound {
            self.send();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Store").finish_non_exhaustive()
    }
}

/// Writes batches until the end.
fn write(batches: &Receiver<Message>, trouble: &Mutex<Option<String>>) {
    while let Ok(Message::Batch { store, changes, now }) = batches.recv() {
        let mut file = store.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.record(&changes).and_then(|()| file.forget(&StoreLimits::default(), now));
        if let Err(error) = written {
            note(trouble, &error);
        }
        drop(file);
        store.is_busy.store(false, Ordering::Release);
    }
}

fn note(trouble: &Mutex<Option<String>>, error: &StoreError) {
    let mut trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner);
    trouble.get_or_insert_with(|| error.to_string());
}

/// The file of an upstream, whatever it is called.
fn file_name(upstream: &str) -> String {
    let mut name = "planner-".to_owned();
    for byte in upstream.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02x}");
        }
    }
    name.push_str(".sqlite");
    name
}

#[cfg(test)]
mod tests {
    use stave_stores::SqlitePlannerStore;

    use super::*;

    fn body() -> String {
        let system = "Rule: be terse. ".repeat(900);
        format!(
            r#"{{"model":"claude-opus-5","max_tokens":16,"system":"{system}","messages":[{{"role":"user","content":"hi"}}]}}"#
        )
    }

    /// Plans a request and learns what the provider counted for it; gives the tokens that were expected to be read.
    fn ask(planner: &mut dyn CachePlanner, now: f64) -> u64 {
        let body = body();
        let wire = stave_lower::read_wire(&body, Some(stave_block::Surface::AnthropicMessages)).unwrap();
        let plan = planner.plan(&PlanRequest { wire: &wire, body: &body, session: Some("s"), now }).unwrap();
        planner.begun(&plan, now + 1.0);
        planner.learn(&plan, Counters { input: 3600, read: plan.expected.read, written: 3600 }, now + 2.0);
        plan.expected.read
    }

    #[test]
    fn another_process_goes_on_with_what_was_learned() {
        let folder = tempfile::tempdir().unwrap();
        let start = 1_800_000_000.0;
        let planners = KeptPlanners::start(folder.path().to_owned(), SqlitePlannerStore::open_boxed).unwrap();
        let mut planner = planners.planner("claude", start);
        assert_eq!(ask(&mut *planner, start), 0, "nothing is known yet");
        assert!(ask(&mut *planner, start + 10.0) > 3000, "the first request was kept by the provider");
        drop(planner);
        drop(planners);
        let planners = KeptPlanners::start(folder.path().to_owned(), SqlitePlannerStore::open_boxed).unwrap();
        assert!(ask(&mut *planners.planner("claude", start + 30.0), start + 30.0) > 3000);
        assert_eq!(
            ask(&mut *planners.planner("other", start + 30.0), start + 30.0),
            0,
            "it is another's cache"
        );
        assert_eq!(planners.trouble(), None);
        // What is too old to be with the provider is not believed to be there.
        let late = start + 9.0 * 3600.0;
        assert_eq!(ask(&mut *planners.planner("claude", late), late), 0);
    }

    #[test]
    fn what_a_planner_learned_is_kept_when_it_is_the_last_to_use_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let start = 1_800_000_000.0;
        let open = || {
            let kept = KeptPlanners::start(folder.path().to_owned(), SqlitePlannerStore::open_boxed).unwrap();
            let planners: Arc<dyn CachePlanners> = Arc::new(kept);
            crate::planning::UpstreamPlanner::new(&planners, "claude", start)
        };
        let first = open();
        first.ask(start, |planner| Ok(ask(planner, start))).unwrap();
        drop(first);
        let read = open().ask(start + 10.0, |planner| Ok(ask(planner, start + 10.0))).unwrap();
        assert!(read > 3000, "{read}");
    }

    #[test]
    fn batches_are_written_while_requests_come() {
        let folder = tempfile::tempdir().unwrap();
        let planners = KeptPlanners::start(folder.path().to_owned(), SqlitePlannerStore::open_boxed).unwrap();
        let start = 1_800_000_000.0;
        let mut planner = planners.planner("claude", start);
        ask(&mut *planner, start);
        ask(&mut *planner, start + 2.0 * BETWEEN_BATCHES);
        let rows = || {
            let file = rusqlite::Connection::open(folder.path().join("planner-claude.sqlite")).unwrap();
            file.query_row("SELECT count(*) FROM cache_prefix", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        for _ in 0..500 {
            if rows() > 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no batch came");
    }

    #[test]
    fn a_file_that_can_not_be_used_costs_the_memory_and_not_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("planner-claude.sqlite")).unwrap();
        let planners = KeptPlanners::start(folder.path().to_owned(), SqlitePlannerStore::open_boxed).unwrap();
        let mut planner = planners.planner("claude", 0.0);
        ask(&mut *planner, 0.0);
        assert!(ask(&mut *planner, 10.0) > 0);
        assert!(planners.trouble().is_some());
        assert_eq!(planners.trouble(), None, "it is told once");
    }

    #[test]
    fn names_of_upstreams_stay_in_the_folder_and_apart() {
        assert_eq!(file_name("claude-1"), "planner-claude-1.sqlite");
        assert_eq!(file_name("../a b"), "planner-%2e%2e%2fa%20b.sqlite");
        assert_ne!(file_name("a.b"), file_name("a-b"));
    }
}
