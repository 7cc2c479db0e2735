//! Planners whose memory outlives the process: what they learned is in a file for each upstream.
//!
//! Invariant: files are opened, read and written on one thread of their own. A request waits for a file once, when its
//! planner begins, and for a bounded time; nothing that goes wrong with a file keeps a planner from planning. What was
//! learned since the last batch is lost when the process is killed, and nothing else.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use stave_block::{
    CachePlan, Counters, PlanRequest, Planner, PlannerMemory, PlannerSettings, PlannerStore, StoreError,
    StoreLimits,
};

use super::{CachePlanner, CachePlanners, PlanningFailed};

/// Opens the file at a path as a store, and makes it when it is not there.
pub type OpenStore = fn(&Path) -> Result<Box<dyn PlannerStore>, StoreError>;

/// How many seconds pass between two batches. The changes of a prefix in between are written once.
const BETWEEN_BATCHES: f64 = 60.0;

/// How long a planner that begins waits for its file. One that comes later is taken up by the next plan.
const OPENING: Duration = Duration::from_millis(250);

/// Makes planners that continue where those of an earlier process stopped. Dropping it writes what is left.
#[derive(Debug)]
pub struct KeptPlanners {
    folder: PathBuf,
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

enum Message {
    Open { path: PathBuf, now: f64, opened: Sender<Opened> },
    Batch { store: Arc<Store>, changes: PlannerMemory, now: f64 },
    End,
}

/// A file with what it held.
struct Opened {
    store: Arc<Store>,
    memory: PlannerMemory,
}

/// A file, and whether a batch for it is on its way.
struct Store {
    file: Mutex<Box<dyn PlannerStore>>,
    is_busy: AtomicBool,
}

/// Where a planner keeps what it learns.
#[derive(Debug)]
enum Place {
    /// The file is being opened.
    Opening(Receiver<Opened>),
    File(Arc<Store>),
    /// The file cannot be used.
    Nowhere,
}

#[derive(Debug)]
struct KeptPlanner {
    planner: Planner,
    place: Place,
    messages: Sender<Message>,
    written: f64,
    now: f64,
    /// Whether nothing went wrong in the middle of a change.
    is_sound: bool,
}

impl KeptPlanners {
    /// Keeps files in a folder, which is there. `report` hears why something is not kept: the first file that could not
    /// be used, and no further one.
    pub fn start(
        folder: PathBuf,
        open: OpenStore,
        report: impl FnOnce(&str) + Send + 'static,
    ) -> std::io::Result<KeptPlanners> {
        let (messages, received) = channel();
        let thread = std::thread::Builder::new()
            .name("stave-planners".to_owned())
            .spawn(move || work(&received, open, Some(report)))?;
        Ok(KeptPlanners { folder, messages, thread: Some(thread) })
    }
}

impl CachePlanners for KeptPlanners {
    fn planner(&self, upstream: &str, now: f64) -> Box<dyn CachePlanner> {
        let (opened, opening) = channel();
        let path = self.folder.join(file_name(upstream));
        // After the end there is nobody who opens it, and the planner learns that from its end of the channel.
        let _ = self.messages.send(Message::Open { path, now, opened });
        let mut planner = KeptPlanner {
            planner: Planner::new(PlannerSettings::default()),
            place: Place::Opening(opening),
            messages: self.messages.clone(),
            written: now,
            now,
            is_sound: true,
        };
        planner.take_up_file(OPENING);
        Box::new(planner)
    }
}

impl Drop for KeptPlanners {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::End);
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl CachePlanner for KeptPlanner {
    fn plan(&mut self, request: &PlanRequest<'_>) -> Result<CachePlan, PlanningFailed> {
        self.now = self.now.max(request.now);
        self.take_up_file(Duration::ZERO);
        Ok(self.change(|planner| planner.plan(request)))
    }

    fn begun(&mut self, plan: &CachePlan, now: f64) {
        self.change(|planner| planner.begun(plan, now));
    }

    fn learn(&mut self, plan: &CachePlan, counters: Counters, now: f64) {
        self.change(|planner| planner.learn(plan, counters, now));
        self.now = self.now.max(now);
        let is_busy = matches!(&self.place, Place::File(store) if store.is_busy.load(Ordering::Acquire));
        if self.now - self.written >= BETWEEN_BATCHES && !is_busy {
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

    /// Continues from what the file held, once it is open. What was learned before that is little and is left.
    fn take_up_file(&mut self, wait: Duration) {
        let Place::Opening(opening) = &self.place else { return };
        match opening.recv_timeout(wait) {
            Ok(Opened { store, memory }) => {
                let mut planner = Planner::with_memory(PlannerSettings::default(), &memory, self.now);
                planner.track_changes();
                (self.planner, self.place) = (planner, Place::File(store));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.place = Place::Nowhere,
        }
    }

    fn send(&mut self) {
        let Place::File(store) = &self.place else { return };
        store.is_busy.store(true, Ordering::Release);
        self.written = self.now;
        let changes = self.planner.changes(self.now);
        // After the end there is nobody who writes, and nothing to be done about it.
        let _ = self.messages.send(Message::Batch { store: Arc::clone(store), changes, now: self.now });
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

/// Opens files and writes batches until the end.
fn work(messages: &Receiver<Message>, open: OpenStore, mut report: Option<impl FnOnce(&str)>) {
    let mut note = |error: &StoreError| {
        if let Some(report) = report.take() {
            report(&error.to_string());
        }
    };
    while let Ok(message) = messages.recv() {
        match message {
            Message::Open { path, now, opened } => match read(open, &path, now) {
                // A planner that is gone already needs no file.
                Ok(file) => drop(opened.send(file)),
                Err(error) => note(&error),
            },
            Message::Batch { store, changes, now } => {
                let mut file = store.file.lock().unwrap_or_else(PoisonError::into_inner);
                let written = file.record(&changes).and_then(|()| file.forget(&StoreLimits::default(), now));
                if let Err(error) = written {
                    note(&error);
                }
                drop(file);
                store.is_busy.store(false, Ordering::Release);
            }
            Message::End => return,
        }
    }
}

fn read(open: OpenStore, path: &Path, now: f64) -> Result<Opened, StoreError> {
    let mut file = open(path)?;
    // An older process may have kept more, or left it long ago.
    file.forget(&StoreLimits::default(), now)?;
    let memory = file.load()?;
    let store = Arc::new(Store { file: Mutex::new(file), is_busy: AtomicBool::new(false) });
    Ok(Opened { store, memory })
}

/// What the names of all files begin and end with.
const NAME: (&str, &str) = ("planner-", ".sqlite");

/// Whether a file has a name that a planner gives its file.
#[must_use]
pub fn is_planner_file(name: &str) -> bool {
    name.starts_with(NAME.0) && name.ends_with(NAME.1)
}

/// The file of an upstream, whatever it is called.
fn file_name(upstream: &str) -> String {
    let mut name = NAME.0.to_owned();
    for byte in upstream.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02x}");
        }
    }
    name.push_str(NAME.1);
    name
}

#[cfg(test)]
mod tests {
    use stave_stores::SqlitePlannerStore;

    use super::*;

    fn start(folder: &Path) -> KeptPlanners {
        KeptPlanners::start(folder.to_owned(), SqlitePlannerStore::open_boxed, |trouble| panic!("{trouble}"))
            .unwrap()
    }

    /// The same, with what is reported.
    fn start_reporting(folder: &Path) -> (KeptPlanners, Receiver<String>) {
        let (sender, reported) = channel();
        let report = move |trouble: &str| sender.send(trouble.to_owned()).unwrap();
        let planners = KeptPlanners::start(folder.to_owned(), SqlitePlannerStore::open_boxed, report);
        (planners.unwrap(), reported)
    }

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
        let begin = 1_800_000_000.0;
        let planners = start(folder.path());
        let mut planner = planners.planner("claude", begin);
        assert_eq!(ask(&mut *planner, begin), 0, "nothing is known yet");
        assert!(ask(&mut *planner, begin + 10.0) > 3000, "the first request was kept by the provider");
        drop(planner);
        drop(planners);
        let planners = start(folder.path());
        assert!(ask(&mut *planners.planner("claude", begin + 30.0), begin + 30.0) > 3000);
        assert_eq!(
            ask(&mut *planners.planner("other", begin + 30.0), begin + 30.0),
            0,
            "it is another's cache"
        );
        // What is too old to be with the provider is not believed to be there.
        let late = begin + 9.0 * 3600.0;
        assert_eq!(ask(&mut *planners.planner("claude", late), late), 0);
    }

    #[test]
    fn what_a_planner_learned_is_kept_when_it_is_the_last_to_use_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let begin = 1_800_000_000.0;
        let open = || {
            let kept = start(folder.path());
            let planners: Arc<dyn CachePlanners> = Arc::new(kept);
            crate::planning::UpstreamPlanner::new(&planners, "claude", begin)
        };
        let first = open();
        first.ask(begin, |planner| Ok(ask(planner, begin))).unwrap();
        drop(first);
        let read = open().ask(begin + 10.0, |planner| Ok(ask(planner, begin + 10.0))).unwrap();
        assert!(read > 3000, "{read}");
    }

    #[test]
    fn batches_are_written_while_requests_come() {
        let folder = tempfile::tempdir().unwrap();
        let planners = start(folder.path());
        let begin = 1_800_000_000.0;
        let mut planner = planners.planner("claude", begin);
        ask(&mut *planner, begin);
        ask(&mut *planner, begin + 2.0 * BETWEEN_BATCHES);
        let rows = || {
            let file = rusqlite::Connection::open(folder.path().join("planner-claude.sqlite")).unwrap();
            file.query_row("SELECT count(*) FROM cache_prefix", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        for _ in 0..500 {
            if rows() > 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no batch came");
    }

    #[test]
    fn a_file_that_can_not_be_used_costs_the_memory_and_not_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("planner-claude.sqlite")).unwrap();
        let (planners, reported) = start_reporting(folder.path());
        let mut planner = planners.planner("claude", 0.0);
        ask(&mut *planner, 0.0);
        assert!(ask(&mut *planner, 10.0) > 0);
        drop((planners.planner("claude", 20.0), planner, planners));
        assert_eq!(reported.iter().count(), 1, "it is reported once");
    }

    #[test]
    fn a_locked_file_holds_up_no_plan_and_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("planner-claude.sqlite");
        drop(SqlitePlannerStore::open_boxed(&path).unwrap());
        let holder = rusqlite::Connection::open(&path).unwrap();
        holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let (planners, reported) = start_reporting(folder.path());
        let mut planner = planners.planner("claude", 0.0);
        ask(&mut *planner, 0.0);
        assert!(ask(&mut *planner, 10.0) > 0, "it plans from what it sees itself");
        drop((planners.planner("claude", 20.0), planner, planners));
        let reported: Vec<String> = reported.iter().collect();
        assert!(matches!(reported.as_slice(), [one] if one.contains("locked")), "{reported:?}");
    }

    #[test]
    fn a_file_that_opens_late_is_taken_up_by_a_later_plan() {
        fn slowly(path: &Path) -> Result<Box<dyn PlannerStore>, StoreError> {
            std::thread::sleep(2 * OPENING);
            SqlitePlannerStore::open_boxed(path)
        }
        let folder = tempfile::tempdir().unwrap();
        let begin = 1_800_000_000.0;
        let planners = start(folder.path());
        ask(&mut *planners.planner("claude", begin), begin);
        drop(planners);
        let planners = KeptPlanners::start(folder.path().to_owned(), slowly, |_| ()).unwrap();
        let mut planner = planners.planner("claude", begin + 10.0);
        std::thread::sleep(8 * OPENING);
        // The first plan knows what the earlier process learned.
        assert!(ask(&mut *planner, begin + 13.0) > 3000);
    }

    #[test]
    fn names_of_upstreams_stay_in_the_folder_and_apart() {
        assert_eq!(file_name("claude-1"), "planner-claude-1.sqlite");
        assert_eq!(file_name("../a b"), "planner-%2e%2e%2fa%20b.sqlite");
        assert_ne!(file_name("a.b"), file_name("a-b"));
    }
}
