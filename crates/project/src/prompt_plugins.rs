//! The plugins of a project: the built-in ones by name, and Python files that run in the sandbox.
//!
//! A plugin's file defines `transform(inputs, context, state)`. `inputs["ir"]` is the prompt as a dict and
//! `inputs["config"]` the plugin's configuration; the function returns the changed dict, or
//! `{"ir": …, "type": …, "description": …}`, or `None` to leave the prompt alone.
//!
//! Invariant: a plugin sees the prompt and its configuration and nothing else. Its worker is ended when its time is
//! over, and a caller waits no longer than twice that time, the wait for a free worker included. Jobs run on a thread
//! of their own, so that a pipeline may be used from any thread.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use stave_canon::{Ids, Object, Value};
use stave_prompt::plugins::{
    BudgetOptimizer, ConfiguredPlugin, ContextDigest, DEFAULT_TIMEOUT, Plugin, PluginChange, PluginError,
};
use stave_prompt::{PromptIr, from_dict, to_dict};
use stave_script::{JobLimits, PoolOptions, PythonPool, TransformJob, WorkerCommand};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::context::ProjectContext;
use crate::exit::Stop;
use crate::files;
use crate::governance;
use crate::ports::SystemClock;
use crate::project::{PluginSetting, Project};

/// How many plugins may work at once.
const WORKERS: usize = 4;

/// How many references a prompt may have before they become one digest, when the project does not say.
pub(crate) const DEFAULT_CONTEXT_REFS: u64 = ContextDigest::DEFAULT_MAX_CONTEXT_REFS.unsigned_abs();

/// How many references a prompt of a flow may have before they become one digest. `None` when the listed plugins have no
/// digest among them.
pub fn flow_context_refs(project: &Project) -> Result<Option<usize>, Stop> {
    let digest = settings(project, &["digest"]).into_iter().find(|setting| is_digest(&setting.plugin));
    digest.map(|setting| most_context_refs(project, &setting)).transpose()
}

/// How many references a digest leaves as they are: its own configuration says so, else the project.
fn most_context_refs(project: &Project, setting: &PluginSetting) -> Result<usize, Stop> {
    const KEY: &str = "max_context_refs";
    knows(&setting.plugin, &setting.config, &[KEY])?;
    let most = match setting.config.get(KEY) {
        None => project.settings.prompt.max_context_refs.unwrap_or(DEFAULT_CONTEXT_REFS),
        Some(most) => {
            let most = most.as_i64().and_then(|most| u64::try_from(most).ok()).filter(|most| *most > 0);
            let message =
                format!("stave.toml: `{KEY}` of the plugin `{}` must be a number from 1 on", setting.plugin);
            most.ok_or_else(|| Stop::invalid(message))?
        }
    };
    Ok(usize::try_from(most).unwrap_or(usize::MAX))
}

fn is_digest(name: &str) -> bool {
    name == "digest" || name == ContextDigest::NAME
}

/// A Python file as a plugin.
#[derive(Debug)]
struct PythonPlugin {
    name: String,
    code: String,
    config: Object,
    timeout: Duration,
    host: Arc<Host>,
}

/// The thread that runs plugins, with the workers they run in.
#[derive(Debug)]
struct Host {
    jobs: Mutex<Option<UnboundedSender<Job>>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    code: String,
    inputs: Object,
    limits: JobLimits,
    answer: SyncSender<Result<Value, String>>,
}

/// The plugins of prompts that people write as documents: those that `[prompt] plugins` lists, else the two built-in
/// ones and every file under `plugins`.
pub fn all(project: &Project, worker: &WorkerCommand) -> Result<Vec<ConfiguredPlugin>, Stop> {
    made(project, worker, &settings(project, &["digest", "budget"]))
}

/// The plugins of a flow's prompts: those that `[prompt] plugins` lists, else the budget and every file under
/// `plugins`. A model step makes the digest itself, because a model may write it.
pub fn of_flows(project: &Project, worker: &WorkerCommand) -> Result<Vec<ConfiguredPlugin>, Stop> {
    let mut settings = settings(project, &["budget"]);
    settings.retain(|setting| !is_digest(&setting.plugin));
    made(project, worker, &settings)
}

/// The plugins of requests that pass the gateway. They have neither references nor a budget, so the built-in plugins
/// do not apply.
pub fn of_gateway(project: &Project, worker: &WorkerCommand) -> Result<Vec<ConfiguredPlugin>, Stop> {
    let settings = settings(project, &[]);
    // All are made, so that an unknown name or setting stops the gateway as it stops a run.
    let plugins = made(project, worker, &settings)?;
    let of_python = settings.iter().zip(plugins).filter(|(setting, _)| is_python(&setting.plugin));
    Ok(of_python.map(|(_, plugin)| plugin).collect())
}

fn settings(project: &Project, built_in: &[&str]) -> Vec<PluginSetting> {
    match &project.settings.prompt.plugins {
        Some(settings) => settings.clone(),
        None => {
            let files = files_of(project);
            built_in
                .iter()
                .copied()
                .chain(files.iter().map(String::as_str))
                .map(PluginSetting::from)
                .collect()
        }
    }
}

fn is_python(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "py")
}

fn made(
    project: &Project,
    worker: &WorkerCommand,
    settings: &[PluginSetting],
) -> Result<Vec<ConfiguredPlugin>, Stop> {
    let mut host = None;
    let usual = project.settings.prompt.plugin_seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
    let plugins = settings.iter().map(|setting| {
        let timeout = setting.timeout_ms.map_or(usual, Duration::from_millis);
        let plugin = plugin(project, setting, timeout, &mut host, worker)?;
        Ok(ConfiguredPlugin { plugin, timeout, on_failure: setting.on_failure })
    });
    plugins.collect()
}

fn plugin(
    project: &Project,
    setting: &PluginSetting,
    timeout: Duration,
    host: &mut Option<Arc<Host>>,
    worker: &WorkerCommand,
) -> Result<Arc<dyn Plugin>, Stop> {
    let PluginSetting { plugin: name, config, .. } = setting;
    match name.as_str() {
        "digest" | ContextDigest::NAME => {
            let most = i64::try_from(most_context_refs(project, setting)?).unwrap_or(i64::MAX);
            let source = Arc::new(ProjectContext::new(&project.root)?);
            let policies = governance::policies(project)?;
            return Ok(Arc::new(ContextDigest::new(most).with_contents(source, policies)));
        }
        "budget" | BudgetOptimizer::NAME => {
            knows(name, config, &[])?;
            return Ok(Arc::new(BudgetOptimizer::default()));
        }
        _ => {}
    }
    if !is_python(name) {
        return Err(Stop::invalid(format!("there is no plugin `{name}`"))
            .help("name `digest`, `budget` or a Python file such as `plugins/redact.py`"));
    }
    let code = files::read_text(&project.root.join(name))?;
    let host = match host {
        Some(host) => Arc::clone(host),
        None => Arc::clone(host.insert(Arc::new(Host::start(worker.clone())?))),
    };
    Ok(Arc::new(PythonPlugin { name: name.clone(), code, config: config.clone(), timeout, host }))
}

/// Refuses configuration that a built-in plugin would not obey.
fn knows(name: &str, config: &Object, keys: &[&str]) -> Result<(), Stop> {
    let Some(unknown) = config.keys().find(|key| !keys.contains(&key.as_str())) else { return Ok(()) };
    let known = match keys {
        [] => "it has no configuration".to_owned(),
        keys => format!("it knows {}", keys.join(", ")),
    };
    Err(Stop::invalid(format!("stave.toml: the plugin `{name}` does not know `{unknown}` in its `config`"))
        .help(known))
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

    /// Its worker is ended when its time is over.
    fn bounds_its_time(&self) -> bool {
        true
    }

    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<PluginChange>, PluginError> {
        let limits = JobLimits { compute: self.timeout, wall: self.timeout, ..JobLimits::DEFAULT };
        let inputs = Object::from_iter([
            ("ir".to_owned(), to_dict(ir)),
            ("config".to_owned(), Value::Object(self.config.clone())),
        ]);
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
        let (jobs, waiting) = unbounded_channel();
        let thread = std::thread::Builder::new()
            .name("prompt-plugins".to_owned())
            .spawn(move || serve(waiting, worker))
            .map_err(|error| Stop::internal(format!("no thread for plugins: {error}")))?;
        Ok(Host { jobs: Mutex::new(Some(jobs)), thread: Some(thread) })
    }

    /// Waits for a plugin's answer. The pool ends its worker when the time is over; a plugin that finds no free worker
    /// for as long again is given up.
    fn run(&self, code: String, inputs: Object, limits: JobLimits) -> Result<Value, String> {
        let (answer, answered) = sync_channel(1);
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let gone = || "the plugins' thread has ended".to_owned();
        jobs.ok_or_else(gone)?.send(Job { code, inputs, limits, answer }).map_err(|_| gone())?;
        let patience = limits.wall.saturating_mul(2).saturating_add(ENDING);
        match answered.recv_timeout(patience) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("no worker was free for {} ms", limits.wall.as_millis()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

/// How long a worker may take to end.
const ENDING: Duration = Duration::from_millis(500);

impl Drop for Host {
    fn drop(&mut self) {
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs jobs until nobody can send one any more. Every job is answered, since the pool bounds its time.
fn serve(mut jobs: UnboundedReceiver<Job>, worker: WorkerCommand) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let pool = Arc::new(PythonPool::new(PoolOptions { command: worker, size: WORKERS }));
    runtime.block_on(async {
        let mut running = JoinSet::new();
        loop {
            let job = tokio::select! {
                job = jobs.recv() => job,
                Some(_) = running.join_next() => continue,
            };
            let Some(Job { code, inputs, limits, answer }) = job else { break };
            let pool = Arc::clone(&pool);
            running.spawn(async move {
                let job = TransformJob { code, inputs, context: Object::new(), has_state: false };
                // The caller may have gone away while the job waited for a worker.
                let waits = limits.wall.saturating_mul(2).saturating_add(ENDING);
                let result = tokio::time::timeout(waits, pool.transform(job, None, &limits)).await;
                let result = match result {
                    Ok(result) => result.map(|output| output.value).map_err(|error| error.to_string()),
                    Err(_) => Err(format!("no worker was free for {} ms", limits.wall.as_millis())),
                };
                let _ = answer.send(result);
            });
        }
        running.join_all().await;
        pool.shutdown().await;
    });
}
