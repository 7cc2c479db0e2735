//! One test: its turns run one after the other, with models and hosts that answer from the test.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::{Clock, Value};
use stave_diag::Span;
use stave_flow::model::{FlowTest, Text};
use stave_flow::yaml::Tree;
use stave_llm::recording::{Answer, Exchange, ExchangeMatch, Recording, Redactor, Replayer};
use stave_project::exit::Stop;
use stave_project::ports::SystemClock;
use stave_project::services::{self, Models, Recorded};
use stave_project::storage::Storage;
use stave_project::{features, files};
use stave_runtime::cache::MemoryCache;
use stave_runtime::journal::Decision;
use stave_runtime::state::MemoryStore;
use stave_runtime::{EmbeddedEngine, Engine, ModelHosts, RunReport};

use super::coverage::{Coverage, EdgeLog};
use super::hosts::{self, Listening, Scripted};
use super::{TestResult, Tested, compare, update};

/// What answers in the place of the world, or listens to it.
struct World {
    hosts: Answering,
    recorder: Option<Recorded>,
    recording: Option<PathBuf>,
    /// Answers for the models; none while a test is recorded.
    replayer: Option<Arc<Replayer>>,
    /// The test's own model and host replies come before the recorded ones, which several tests may share.
    own_replies: Vec<Exchange>,
    own_hosts: usize,
}

enum Answering {
    Scripted(Arc<Scripted>),
    Listening(Arc<Listening>),
}

pub(super) async fn perform(
    tested: &Tested,
    test: &FlowTest,
    record: bool,
    coverage: &mut Coverage,
) -> Result<TestResult, Stop> {
    let name = test.name.as_ref().map_or_else(String::new, |name| name.as_str().to_owned());
    let started = SystemClock.elapsed();
    let result = |problems: Vec<String>| TestResult {
        name: name.clone(),
        line: 0,
        took: SystemClock.elapsed().saturating_sub(started),
        problems,
        notes: Vec::new(),
        edits: Vec::new(),
    };
    let log = Arc::new(EdgeLog::default());
    let (services, world) = match build(tested, test, record, &log)? {
        Ok(built) => built,
        Err(reason) => return Ok(result(vec![reason])),
    };
    let python = Arc::clone(&services.python);
    let engine = EmbeddedEngine::new(services).with_decisions(decisions(test));
    let document = Arc::new(tested.document.clone());
    let mut turns = Vec::new();
    for request in requests(test) {
        let run_id = engine.new_run_id();
        let report = engine.start(&run_id, Arc::clone(&document), &request).await;
        let report: RunReport = report.map_err(|error| Stop::internal(error.to_string()))?;
        coverage.add(&tested.document, &report, &log);
        turns.push(report);
    }
    python.shutdown().await;
    let hosts_called = world.hosts_called();
    let mut problems = world.unanswered();
    let mut edits = Vec::new();
    if let Some(expect) = &test.expect {
        problems.extend(compare::problems(expect, &turns, hosts_called, world.unmetered()));
        edits = update::edits(expect, &turns, hosts_called);
    }
    // A test that expects a failure is whole with it; any other failed turn lacks what would have come after it.
    let has_failed = turns.iter().any(|turn| turn.result.is_err()) && !problems.is_empty();
    world.keep(has_failed.then_some("a turn of the test failed"))?;
    let took = SystemClock.elapsed().saturating_sub(started).max(Duration::from_micros(1));
    Ok(TestResult { edits, took, notes: world.unused(), ..result(problems) })
}

/// What people decide in a test, by node.
fn decisions(test: &FlowTest) -> HashMap<String, Decision> {
    let entries = test.decisions.as_ref().and_then(Tree::entries).unwrap_or_default();
    let decided = entries.iter().map(|entry| {
        let approved = entry.value.text().is_some_and(|word| word.as_str() == "approve");
        let (decided_by, decided_at) = (Some("test".to_owned()), SystemClock.now());
        (entry.key.value.clone(), Decision { approved, comment: None, decided_at, decided_by, digest: None })
    });
    decided.collect()
}

/// The requests of a test, one for each turn.
fn requests(test: &FlowTest) -> Vec<Value> {
    match test.request.as_ref().map(Tree::to_value) {
        Some(Value::Array(turns)) => turns,
        Some(sole) => vec![sole],
        None => Vec::new(),
    }
}

/// Fills every port. What is wrong with the test's own replies is the inner error.
fn build(
    tested: &Tested,
    test: &FlowTest,
    record: bool,
    log: &Arc<EdgeLog>,
) -> Result<Result<(stave_runtime::Services, World), String>, Stop> {
    let folder = tested.file.parent().map_or_else(PathBuf::new, PathBuf::from);
    let recording = test.recording.as_ref().map(|path| folder.join(path.as_str()));
    // Nobody is asked for replies that could not be kept.
    if let Some(path) = recording.as_deref().filter(|_| record) {
        files::check_named_recording(path, [&tested.project.root, &folder])?;
    }
    let models = if record && recording.is_some() { Models::Record } else { Models::Live };
    let storage = Storage {
        journal: Arc::clone(log) as Arc<dyn stave_runtime::journal::Journal>,
        state: Arc::new(MemoryStore::new()),
        cache: Arc::new(MemoryCache::default()),
        database: None,
    };
    let (mut replayer, mut own_replies, mut own_hosts) = (None, Vec::new(), 0);
    let (mut services, recorder) = services::build(&tested.project, &tested.document, storage, &models)?;
    // A test reads the project's rows and writes none that outlive it, whatever server the project names.
    services.features = Arc::new(features::embedded(&tested.project, None)?);
    let secrets = services::secret_values(&tested.project, &tested.document);
    let hosts = if record && recording.is_some() {
        let listening =
            Arc::new(Listening::new(Redactor::new(secrets.into_iter().map(|(_, secret)| secret))));
        services.http = services.http.answered_by(Arc::clone(&listening) as _);
        Answering::Listening(listening)
    } else {
        // A test needs no key: the service that would check it is not called.
        services.secrets = services::placeholder_secrets(&tested.project, &tested.document);
        let mut all = match own_exchanges(test) {
            Ok(exchanges) => Recording { exchanges },
            Err(reason) => return Ok(Err(reason)),
        };
        own_replies.clone_from(&all.exchanges);
        match recorded(test, recording.as_deref()) {
            Ok(exchanges) => all.exchanges.extend(exchanges),
            Err(reason) => return Ok(Err(reason)),
        }
        let answers = Arc::new(Replayer::new(all));
        services.models = Arc::clone(&answers) as _;
        services.planning = None;
        replayer = Some(answers);
        services.model_hosts = ModelHosts::everywhere();
        let own = test.http.as_ref().map_or_else(|| Ok(Vec::new()), hosts::read_replies);
        let mut entries = match own {
            Ok(own) => own,
            Err(faults) => return Ok(Err(joined(faults))),
        };
        own_hosts = entries.len();
        if let Some(path) = recording.as_deref().map(files::hosts_recording).filter(|path| path.is_file()) {
            let text = files::read_text(&path)?;
            let recorded = stave_canon::parse(&text).map_err(|error| error.message);
            match recorded.and_then(|recorded| hosts::read_replies(&recorded).map_err(joined)) {
                Ok(recorded) => entries.extend(recorded),
                Err(reason) => return Ok(Err(format!("{}: {reason}", path.display()))),
            }
        }
        let scripted = Arc::new(Scripted::new(entries));
        let allow = services::any_host()?;
        services.http = allow.answered_by(Arc::clone(&scripted) as _);
        Answering::Scripted(scripted)
    };
    Ok(Ok((services, World { hosts, recorder, recording, replayer, own_replies, own_hosts })))
}

/// The model replies that the test holds itself.
fn own_exchanges(test: &FlowTest) -> Result<Vec<Exchange>, String> {
    let Some(models) = &test.models else { return Ok(Vec::new()) };
    let document = Value::from_iter([("version", Value::from(1_i64)), ("exchanges", models.to_value())]);
    let read = Recording::parse(&document.to_string());
    Ok(read.map_err(|error| format!("`models`: {}", error.message))?.exchanges)
}

/// What is wrong with the replies that a test holds itself, with their place.
#[must_use]
pub fn scripted_faults(test: &FlowTest) -> Vec<(Span, String)> {
    let is_list = |tree: &&Tree| tree.items().is_some();
    let models = test.models.as_ref().filter(is_list);
    let models = models.and_then(|tree| Some((tree.span, own_exchanges(test).err()?)));
    let mut found: Vec<(Span, String)> = models.into_iter().collect();
    if let Some(tree) = test.http.as_ref() {
        let faults = hosts::read_replies(tree).err().unwrap_or_default().into_iter();
        found.extend(faults.map(|(range, message)| {
            let span = range.map_or(tree.span, |range| Span::new(tree.span.source, range.start, range.end));
            (span, message)
        }));
    }
    found
}

/// Everything that is wrong, in one line.
fn joined(faults: Vec<(Option<std::ops::Range<usize>>, String)>) -> String {
    faults.into_iter().map(|(_, message)| message).collect::<Vec<_>>().join("; ")
}

/// The model replies of the file that the test names.
fn recorded(test: &FlowTest, recording: Option<&std::path::Path>) -> Result<Vec<Exchange>, String> {
    let Some(path) = recording else { return Ok(Vec::new()) };
    let name = test.recording.as_ref().map_or("", Text::as_str);
    let bytes = files::read_plain(path, files::MAX_FILE_BYTES)
        .map_err(|error| format!("{name} {error}; `stave test --record` writes it"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8 text"))?;
    let read = Recording::parse(&text);
    Ok(read.map_err(|error| format!("{}: {error}", path.display()))?.exchanges)
}

impl World {
    fn hosts_called(&self) -> u64 {
        match &self.hosts {
            Answering::Scripted(scripted) => scripted.calls(),
            Answering::Listening(listening) => listening.replies().len() as u64,
        }
    }

    /// Writes what was recorded. `gap` says why a replay would miss some of it; then a recording that is there stays.
    fn keep(&self, gap: Option<&str>) -> Result<(), Stop> {
        let (Answering::Listening(listening), Some(path)) = (&self.hosts, &self.recording) else {
            return Ok(());
        };
        if let Some(recorder) = &self.recorder {
            files::keep_recording(path, &recorder.recording(), gap)?;
        }
        let (heard, hosts) = (listening.replies(), files::hosts_recording(path));
        if !heard.is_empty() && (gap.is_none() || !hosts.exists()) {
            files::write_private(&hosts, &stave_canon::pretty_insertion_utf8(&Value::Array(heard)))?;
        }
        Ok(())
    }

    /// Calls that nothing in the test answers. They fail the test even when the flow handled the failure: the flow
    /// was not run as the test says. A test that wants a failing model or host scripts the failure.
    fn unanswered(&self) -> Vec<String> {
        let models = self.replayer.as_ref().map(|replayer| replayer.unmatched()).unwrap_or_default();
        let models = models.iter().map(|reason| format!("a model call had no reply: {reason}"));
        let hosts = match &self.hosts {
            Answering::Scripted(scripted) => {
                let listed = scripted.listed();
                let asked = scripted.unanswered().into_iter();
                asked.map(|asked| format!("the test has no http reply for {asked}; {listed}")).collect()
            }
            Answering::Listening(_) => Vec::new(),
        };
        models.chain(hosts).collect()
    }

    /// How many replies of models do not say what they used.
    fn unmetered(&self) -> usize {
        let recorded = || {
            let recording = self.recorder.as_ref().map(|recorder| recorder.recording())?;
            let silent = recording.exchanges.iter().filter(
                |exchange| matches!(&exchange.answer, Answer::Response(response) if !response.is_metered()),
            );
            Some(silent.count())
        };
        match &self.replayer {
            Some(replayer) => replayer.unmetered(),
            None => recorded().unwrap_or_default(),
        }
    }

    /// The test's own replies that no call took. A reply with `times: 0` is there to be taken by none.
    fn unused(&self) -> Vec<String> {
        let unused = self.replayer.as_ref().map(|replayer| replayer.unused_exchanges()).unwrap_or_default();
        let models = unused.into_iter().filter_map(|index| {
            let exchange = self.own_replies.get(index).filter(|exchange| exchange.times != Some(0))?;
            let rule = match &exchange.when {
                ExchangeMatch::Pattern(pattern) => format!("match {}", pattern.to_value()),
                ExchangeMatch::Request(request) => format!("request to {}", request.model),
            };
            Some(format!("models reply {} was never taken: {rule}", index + 1))
        });
        let hosts = match &self.hosts {
            Answering::Scripted(scripted) => scripted.unused(self.own_hosts),
            Answering::Listening(_) => Vec::new(),
        };
        models.chain(hosts.into_iter().map(|reply| format!("http reply {reply} was never taken"))).collect()
    }
}
