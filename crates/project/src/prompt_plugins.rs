//! The plugins of a project: the built-in ones by name, and Python files that run in the sandbox.
//!
//! A plugin's file defines `transform(inputs, context, state)`. `inputs["ir"]` is the prompt as a dict; the
//! function returns the changed dict, or `{"ir": …, "type": …, "description": …}`, or `None` to leave the
//! prompt alone.
//!
//! Invariant: a plugin sees the prompt and nothing else, and its time is bounded. Jobs of all plugins run
//! one after the other on a thread of their own, so that a pipeline may be used from any thread.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use stave_canon::{Ids, Object, Value};
use stave_prompt::plugins::{BudgetOptimizer, ContextDigest, Plugin, PluginChange, PluginError};
use stave_prompt::{PromptIr, from_dict, to_dict};
use stave_script::{JobLimits, PoolOptions, PythonPool, TransformJob, WorkerCommand};

use crate::exit::Stop;
use crate::files;
use crate::ports::SystemClock;
use crate::project::Project;

/// How long a plugin may take when the project does not say.
pub(crate) const DEFAULT_LIMIT: Duration = Duration::from_secs(5);

/// A Python file as a plugin.
#[derive(Debug)]
struct PythonPlugin {
    name: String,
    code: String,
    limit: Duration,
    host: Arc<Host>,
}

/// The thread that runs plugins, with the worker they run in.
#[derive(Debug)]
struct Host {
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    code: String,
    inputs: Object,
    limits: JobLimits,
    answer: SyncSender<Result<Value, String>>,
}

/// How long a plugin of the project may take.
pub fn limit(project: &Project) -> Duration {
    project.settings.prompt.plugin_seconds.map_or(DEFAULT_LIMIT, Duration::from_secs)
}

/// All plugins of the project in their order: those that `[prompt] plugins` lists, else the two built-in
/// ones and every file under `plugins`.
pub fn all(project: &Project, worker: &WorkerCommand) -> Result<Vec<Arc<dyn Plugin>>, Stop> {
    let names = match &project.settings.prompt.plugins {
        Some(names) => names.clone(),
        None => ["digest", "budget"].map(str::to_owned).into_iter().chain(files_of(project)).collect(),
    };
    let mut host = None;
    names.iter().map(|name| plugin(project, name, &mut host, worker)).collect()
}

/// The Python plugins alone, for prompts that pass the built-in ones anyway.
pub fn own(project: &Project, worker: &WorkerCommand) -> Result<Vec<Arc<dyn Plugin>>, Stop> {
    let names = match &project.settings.prompt.plugins {
        Some(names) => names.iter().filter(|name| name.ends_with(".py")).cloned().collect(),
        None => files_of(project),
    };
    let mut host = None;
    names.iter().map(|name| plugin(project, name, &mut host, worker)).collect()
}

fn plugin(
    project: &Project,
    name: &str,
    host: &mut Option<Arc<Host>>,
    worker: &WorkerCommand,
) -> Result<Arc<dyn Plugin>, Stop> {
    match name {
        "digest" | ContextDigest::NAME => return Ok(Arc::new(ContextDigest::default())),
        "budget" | BudgetOptimizer::NAME => return Ok(Arc::new(BudgetOptimizer::default())),
        _ => {}
    }
    if Path::new(name).extension().is_none_or(|extension| extension != "py") {
        return Err(Stop::invalid(format!("there is no plugin `{name}`"))
            .help("name `digest`, `budget` or a Python file such as `plugins/redact.py`"));
    }
    let code = files::read_text(&project.root.join(name))?;
    let host = match host {
        Some(host) => Arc::clone(host),
        None => Arc::clone(host.insert(Arc::new(Host::start(worker.clone())?))),
    };
    Ok(Arc::new(PythonPlugin { name: name.to_owned(), code, limit: limit(project), host }))
}

/// The files under `plugins`, in the order of their names.
fn files_of(project: &Project) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(project.root.join("plugins")) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut names: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "py")).collect();
    names.sort();
    let name = |path: &PathBuf| Some(format!("plugins/{}", path.file_name()?.to_str()?));
    names.iter().filter_map(name).collect()
}

impl Plugin for PythonPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<PluginChange>, PluginError> {
        let limits = JobLimits { compute: self.limit, wall: self.limit, ..JobLimits::DEFAULT };
        let inputs = [("ir".to_owned(), to_dict(ir))].into_iter().collect();
        let answer = self.host.run(self.code.clone(), inputs, limits).map_err(PluginError)?;
        change(ir, answer, &self.name, ids)
    }
}

/// What a plugin's answer makes of a prompt. The answer is untrusted: it must be a prompt again.
fn change(
    ir: &PromptIr,
    answer: Value,
    name: &str,
    ids: &dyn Ids,
) -> Result<Option<PluginChange>, PluginError> {
    if answer.is_null() {
        return Ok(None);
    }
    let text = |key: &str| answer.get("ir").and(answer.get(key)).and_then(Value::as_str).map(str::to_owned);
    let (kind, description) = (text("type"), text("description"));
    let mut dictionary = answer.get("ir").cloned().unwrap_or(answer);
    if let Some(members) = dictionary.as_object_mut() {
        members.insert("ir_id".to_owned(), ids.short().into());
        members.insert("created_at".to_owned(), ir.created_at.to_string().into());
    }
    let changed =
        from_dict(&dictionary, ids, &SystemClock).map_err(|error| PluginError(error.to_string()))?;
    if (PromptIr { ir_id: ir.ir_id.clone(), ..changed.clone() }) == *ir {
        return Ok(None);
    }
    let description = description.unwrap_or_else(|| format!("Changed by {name}"));
    Ok(Some(PluginChange::new(changed, kind.unwrap_or_else(|| "python_plugin".to_owned()), description)))
}

impl Host {
    fn start(worker: WorkerCommand) -> Result<Host, Stop> {
        let (jobs, waiting) = channel();
        let thread = std::thread::Builder::new()
            .name("prompt-plugins".to_owned())
            .spawn(move || serve(&waiting, worker))
            .map_err(|error| Stop::internal(format!("no thread for plugins: {error}")))?;
        Ok(Host { jobs: Mutex::new(Some(jobs)), thread: Some(thread) })
    }

    fn run(&self, code: String, inputs: Object, limits: JobLimits) -> Result<Value, String> {
        let (answer, answered) = sync_channel(1);
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let gone = || "the plugins' thread has ended".to_owned();
        jobs.ok_or_else(gone)?.send(Job { code, inputs, limits, answer }).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs jobs until nobody can send one any more. Every job is answered, since the pool bounds its time.
fn serve(jobs: &Receiver<Job>, worker: WorkerCommand) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let pool = PythonPool::new(PoolOptions { command: worker, size: 1 });
    while let Ok(Job { code, inputs, limits, answer }) = jobs.recv() {
        let job = TransformJob { code, inputs, context: Object::new(), has_state: false };
        let result = runtime.block_on(pool.transform(job, None, &limits));
        // Whoever asked may have gone away.
        let _ = answer.send(result.map(|output| output.value).map_err(|error| error.to_string()));
    }
    runtime.block_on(pool.shutdown());
}
