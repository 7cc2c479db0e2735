//! The ports of a run, filled from the project, the environment and the machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stave_canon::{Clock, Ids, Object, Timestamp, Value};
use stave_exec::Document;
use stave_exec::dataflow::NodeData;
use stave_llm::prices::Prices;
use stave_llm::recording::{Recorder, Recording, Redactor, Replayer};
use stave_llm::{Client, ClientOptions, Provider, Secret, Transport};
use stave_runtime::database::Database;
use stave_runtime::features::{EmbeddedFeatures, FeatureRow};
use stave_runtime::http::{AllowList, HttpClient};
use stave_runtime::journal::{Ephemeral, Journal, SqliteJournal};
use stave_runtime::state::{MemoryStore, SqliteStore, StateStore};
use stave_runtime::{Limits, Secrets, Services};
use stave_script::interpolation::{self, PathStep};
use stave_script::{PoolOptions, PythonPool, RenderLimits, Renderer, WorkerCommand};

use crate::exit::Stop;
use crate::files;
use crate::ports::{RandomIds, SystemClock};
use crate::project::{Project, StateBackend};
use crate::{governance, prompt_plugins};

/// Who answers model calls.
#[derive(Debug, Clone)]
pub(crate) enum Models {
    Live,
    Record,
    Replay(PathBuf),
}

/// A transport that keeps what it saw.
pub(crate) type Recorded = Arc<Recorder<Client>>;

/// The database of a project, in its `.stave` folder.
pub(crate) const DATABASE: &str = "stave.sqlite";

/// How many Python workers a run may have at once.
const PYTHON_WORKERS: usize = 4;

/// The policy to bake into documents: the project's limits, and the governance policies by name.
pub(crate) fn policy(project: &Project) -> Result<Object, Stop> {
    let mut policy = Object::new();
    if let Some(policies) = governance::baked(project)? {
        policy.insert("governance".into(), policies);
    }
    let mut limits = Object::new();
    if let Some(tokens) = project.settings.limits.prompt_tokens {
        limits.insert("prompt_tokens".into(), tokens.into());
    }
    if !limits.is_empty() {
        policy.insert("limits".into(), limits.into());
    }
    Ok(policy)
}

/// Fills every port. The recorder is given back when the models are recorded.
pub(crate) fn build(
    project: &Project,
    document: &Document,
    storage: Storage,
    models: &Models,
) -> Result<(Services, Option<Recorded>), Stop> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let secrets = secrets(document);
    let (transport, recorder) = transport(models, &clock, &secrets)?;
    let settings = &project.settings;
    let allow = match &settings.http_allow {
        Some(hosts) => AllowList::hosts(hosts.clone()),
        None => AllowList::public(),
    };
    let defaults = Limits::default();
    let limits = Limits {
        parallel_steps: settings
            .limits
            .parallel_steps
            .map_or(defaults.parallel_steps, |steps| steps as usize),
        run: settings.limits.run_seconds.map_or(defaults.run, Duration::from_secs),
        tool_rounds: settings.limits.tool_rounds.map_or(defaults.tool_rounds, |rounds| rounds as usize),
        ..defaults
    };
    let services = Services {
        clock,
        ids: Arc::new(RandomIds),
        python: Arc::new(PythonPool::new(PoolOptions { command: worker()?, size: PYTHON_WORKERS })),
        templates: Arc::new(Renderer::new(RenderLimits::default())),
        models: transport,
        prices: Arc::new(prices(project)?),
        http: HttpClient::new(allow).map_err(|error| Stop::internal(error.to_string()))?,
        state: storage.state,
        journal: storage.journal,
        features: Arc::new(features(project)?),
        secrets: secrets.into_iter().collect(),
        prompt_plugins: prompt_plugins::own(project, &worker()?)?,
        limits,
    };
    Ok((services, recorder))
}

pub(crate) fn transport(
    models: &Models,
    clock: &Arc<dyn Clock>,
    secrets: &[(String, Secret)],
) -> Result<(Arc<dyn Transport>, Option<Recorded>), Stop> {
    let redactor = || Redactor::new(secrets.iter().map(|(_, secret)| secret.clone()));
    let client = || {
        Client::new(&ClientOptions::default(), Arc::clone(clock))
            .map_err(|error| Stop::internal(format!("the model client can not be made: {error}")))
    };
    match models {
        Models::Live => Ok((Arc::new(client()?), None)),
        Models::Record => {
            let recorder = Arc::new(Recorder::new(client()?, redactor()));
            Ok((Arc::clone(&recorder) as Arc<dyn Transport>, Some(recorder)))
        }
        Models::Replay(path) => {
            let text = files::read_text(path)?;
            let recording = Recording::parse(&text).map_err(|error| {
                let place = format!("{}:{}:{}", path.display(), error.line, error.column);
                Stop::invalid(format!("{place}: {}", error.message))
            })?;
            Ok((Arc::new(Replayer::with_redactor(recording, redactor())), None))
        }
    }
}

/// This program again, as a Python worker.
pub(crate) fn worker() -> Result<WorkerCommand, Stop> {
    let program = std::env::current_exe()
        .map_err(|error| Stop::internal(format!("this program can not find itself: {error}")))?;
    Ok(WorkerCommand { program, arguments: vec![OsString::from("py-worker")] })
}

/// The secrets that a document can use: those it names, and the keys of the providers. No other variable
/// of the environment comes in.
fn secrets(document: &Document) -> Vec<(String, Secret)> {
    let mut names: BTreeSet<String> =
        Provider::ALL.iter().map(|provider| Secrets::provider_key_name(provider.as_str())).collect();
    for node in &document.graph.nodes {
        node.with.values().for_each(|value| named_secrets(value, &mut names));
    }
    let value = |name: String| {
        let value = std::env::var(&name).ok().filter(|value| !value.is_empty())?;
        Some((name, Secret::new(value)))
    };
    names.into_iter().filter_map(value).collect()
}

/// Adds the names of `${secrets.NAME}` in a value.
fn named_secrets(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let Ok(parsed) = interpolation::parse(text) else { return };
            for placeholder in parsed.placeholders().filter(|placeholder| placeholder.path.root == "secrets")
            {
                if let [(PathStep::Key(name), _), ..] = placeholder.path.steps.as_slice() {
                    names.insert(name.clone());
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named_secrets(item, names)),
        Value::Object(object) => object.values().for_each(|member| named_secrets(member, names)),
        _ => {}
    }
}

fn prices(project: &Project) -> Result<Prices, Stop> {
    let mut prices = Prices::built_in();
    if let Some(text) = &project.settings.prices {
        prices = prices
            .with_overrides(text)
            .map_err(|error| Stop::invalid(format!("the prices in stave.toml can not be used: {error}")))?;
    }
    Ok(prices)
}

/// Where runs and sessions are kept.
pub(crate) struct Storage {
    journal: Arc<dyn Journal>,
    state: Arc<dyn StateStore>,
}

/// Opens the project's database when something is to be kept there. An ephemeral run without sessions
/// leaves no file behind.
pub(crate) fn storage(
    project: &Project,
    document: &Document,
    folder: &Path,
    ephemeral: bool,
) -> Result<Storage, Stop> {
    if !ephemeral {
        return Ok(storage_of(project, document, &database(folder)?));
    }
    let state: Arc<dyn StateStore> = if remembers_sessions(document) && wants_file(project) {
        Arc::new(SqliteStore::new(database(folder)?))
    } else {
        Arc::new(MemoryStore::new())
    };
    Ok(Storage { journal: Arc::new(Ephemeral), state })
}

/// The same with an open database, for runs that are kept. What such a run remembers is kept with it,
/// because it has to be there when the run is resumed.
pub(crate) fn storage_of(project: &Project, document: &Document, database: &Arc<Database>) -> Storage {
    let state: Arc<dyn StateStore> = if remembers_sessions(document) && !wants_file(project) {
        Arc::new(MemoryStore::new())
    } else {
        Arc::new(SqliteStore::new(Arc::clone(database)))
    };
    Storage { journal: Arc::new(SqliteJournal::new(Arc::clone(database))), state }
}

/// Whether a node of the document has state of its session.
fn remembers_sessions(document: &Document) -> bool {
    let data = document.graph.nodes.iter().filter_map(|node| NodeData::read(&node.extra).ok().flatten());
    data.filter_map(|data| data.state).any(|state| state.session)
}

fn wants_file(project: &Project) -> bool {
    project.settings.state_backend != Some(StateBackend::Memory)
}

/// Opens the database in a folder, which is made when it is not there.
pub(crate) fn database(folder: &Path) -> Result<Arc<Database>, Stop> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Stop::internal(format!("{} can not be made: {error}", folder.display()))
            .help("--state-dir names another folder, and --ephemeral keeps nothing of a run")
    })?;
    let path = folder.join(DATABASE);
    Database::open(&path, &RandomIds.uuid())
        .map_err(|error| Stop::internal(format!("{} can not be opened: {error}", path.display())))
}

/// The rows of `features/NAME.jsonl`: `{"key", "event_time", "features"}` a line.
fn features(project: &Project) -> Result<EmbeddedFeatures, Stop> {
    let mut store = EmbeddedFeatures::new();
    let folder = project.root.join("features");
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(store) };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    for path in paths {
        let text = files::read_text(&path)?;
        let mut rows = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row = feature_row(line).map_err(|reason| {
                Stop::invalid(format!("{}:{}: {reason}", path.display(), index + 1)).help(
                    "a row is {\"key\": …, \"event_time\": \"2026-01-01T00:00:00Z\", \"features\": {…}}",
                )
            })?;
            rows.push(row);
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        store.insert(name, rows);
    }
    Ok(store)
}

fn feature_row(line: &str) -> Result<FeatureRow, String> {
    let value = stave_canon::parse(line).map_err(|error| format!("the row is not JSON: {error}"))?;
    let key = value.get("key").cloned().ok_or("the row has no `key`")?;
    let event_time = value.get("event_time").and_then(Value::as_str).ok_or("the row has no `event_time`")?;
    let event_time: Timestamp =
        event_time.parse().map_err(|error| format!("`event_time` is not a timestamp: {error}"))?;
    let features = value.get("features").and_then(Value::as_object).ok_or("the row has no `features`")?;
    Ok(FeatureRow { key, event_time, features: features.clone() })
}
