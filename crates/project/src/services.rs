//! The ports of a run, filled from the project, the environment and the machine.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::{Clock, Object};
use stave_exec::Document;
use stave_llm::prices::Prices;
use stave_llm::recording::{Recorder, Recording, Redactor, Replayer};
use stave_llm::{Client, ClientOptions, Provider, Secret, Transport};
use stave_mcp::{McpEndpoint, McpServers};
use stave_request::ModelPlanning;
use stave_request::planning::{CachePlanners, KeptPlanners, PlannersInMemory};
use stave_runtime::cache::MemoryCache;
use stave_runtime::database::Database;
use stave_runtime::http::{AllowList, HttpClient};
use stave_runtime::{
    DigestModel, DigestSettings, ModelHosts, RunLimits, Secrets, Services, add_secret_names,
};
use stave_script::{PoolOptions, PythonPool, TemplateRenderer, WorkerCommand};

use crate::context::ListedContext;
use crate::exit::Stop;
use crate::files;
use crate::ports::{RandomIds, SystemClock};
use crate::project::{McpServer, Project};
use crate::storage::Storage;
use crate::{features, governance, opcua, planner_files, prompt_plugins, warnings};

/// Who answers model calls.
#[derive(Debug, Clone)]
pub enum Models {
    Live,
    Record,
    Replay(PathBuf),
}

/// A transport that keeps what it saw.
pub type Recorded = Arc<Recorder<Client>>;

/// What every program needs to be found and to find its own files.
const PASSED_ON: [&str; 2] = ["PATH", "HOME"];

/// How many Python workers a run may have at once.
const PYTHON_WORKERS: usize = 4;

/// The policy to bake into documents: the project's limits, and the governance policies by name.
pub fn policy(project: &Project) -> Result<Object, Stop> {
    let mut policy = Object::new();
    if let Some(policies) = governance::baked(project)? {
        policy.insert("governance".into(), policies);
    }
    let constraints = &project.settings.prompt.constraints;
    if !constraints.is_empty() {
        policy.insert("constraints".into(), constraints.clone().into());
    }
    let mut limits = Object::new();
    if let Some(tokens) = project.settings.limits.prompt_tokens {
        limits.insert("prompt_tokens".into(), tokens.into());
    }
    if !project.settings.budget.is_empty() {
        limits.insert("budget".into(), project.settings.budget.clone().into());
    }
    if !limits.is_empty() {
        policy.insert("limits".into(), limits.into());
    }
    let sensitivity = project.settings.sensitivity();
    if !sensitivity.is_empty() {
        policy.insert("sensitivity".into(), sensitivity.into());
    }
    Ok(policy)
}

/// Fills every port. The recorder is given back when the models are recorded.
pub fn build(
    project: &Project,
    document: &Document,
    storage: Storage,
    models: &Models,
) -> Result<(Services, Option<Recorded>), Stop> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let values = secret_values(project, document);
    let (transport, recorder) = transport(models, &clock, &values)?;
    let settings = &project.settings;
    let allow = match &settings.http_allow {
        Some(hosts) => AllowList::hosts(hosts.clone()),
        None => AllowList::public(),
    };
    let limits = limits(project);
    let python = Arc::new(PythonPool::new(PoolOptions { command: worker()?, size: PYTHON_WORKERS }));
    let services = Services {
        clock,
        ids: Arc::new(RandomIds),
        templates: Arc::new(TemplateRenderer::new(Arc::clone(&python))),
        python,
        models: transport,
        planning: planning(project, models, storage.database.as_deref())?,
        prices: Arc::new(prices(project)),
        model_hosts: model_hosts(project, models),
        http: HttpClient::new(allow).map_err(|error| Stop::internal(error.to_string()))?,
        state: storage.state,
        journal: storage.journal,
        // What the cache answers is not asked, and would be missing from a recording.
        cache: match models {
            Models::Record => Arc::new(MemoryCache::default()),
            Models::Live | Models::Replay(_) => storage.cache,
        },
        observer: Arc::new(()),
        tracer: Arc::new(()),
        opcua: opcua::plants(project),
        features: features::store(project, storage.database.as_ref())?,
        tool_servers: Arc::new(tool_servers(project)),
        secrets: secrets(project, values),
        references: Arc::new(ListedContext::new(&project.root, &settings.prompt.context_files)?),
        digests: digests(project)?,
        prompt_plugins: prompt_plugins::of_flows(project, &worker()?)?,
        heavy_work: Arc::default(),
        gate: Arc::new(settings.sensitivity_policy()),
        limits,
        policy: Some(Arc::new(policy(project)?)),
    };
    Ok((services, recorder))
}

/// Cache planners that keep what they learn in files in a folder, which is there.
pub fn kept_planners(folder: PathBuf) -> Result<KeptPlanners, Stop> {
    let report = |trouble: &str| {
        warnings::warn_once(&format!("what is learned of caches is not kept: {trouble}"));
    };
    KeptPlanners::start(folder, planner_files::open, report)
        .map_err(|error| Stop::internal(format!("the cache planners cannot be started: {error}")))
}

/// The cache planning of model calls. A recording holds what models say and not what a cache held at the time, so calls
/// that are recorded or replayed are not planned. What planners learn is kept beside the project's database.
fn planning(
    project: &Project,
    models: &Models,
    database: Option<&Database>,
) -> Result<Option<Arc<ModelPlanning>>, Stop> {
    if project.settings.prompt.cache_planning == Some(false) || !matches!(models, Models::Live) {
        return Ok(None);
    }
    let planners: Arc<dyn CachePlanners> = match database.and_then(Database::folder) {
        Some(folder) => Arc::new(kept_planners(folder.to_owned())?),
        None => Arc::new(PlannersInMemory),
    };
    Ok(Some(Arc::new(ModelPlanning::new(planners))))
}

/// The hosts that the project's own file names, for whatever purpose: its owner knows them.
fn model_hosts(project: &Project, models: &Models) -> ModelHosts {
    if let Models::Replay(_) = models {
        return ModelHosts::everywhere();
    }
    ModelHosts::these(project.settings.allow_lists().model_hosts)
}

/// When references become a digest, and who writes it.
fn digests(project: &Project) -> Result<DigestSettings, Stop> {
    let named = project.settings.digest_model.as_ref();
    let model = named.map(|model| {
        let provider = model.provider.parse::<Provider>().map_err(|error| {
            Stop::invalid(format!("`[models.digest]`: {error}")).help("name a provider such as `openai`")
        })?;
        Ok(DigestModel { provider, name: model.name.clone(), endpoint: model.endpoint.clone() })
    });
    let max_context_refs = prompt_plugins::flow_context_refs(project)?.unwrap_or(usize::MAX);
    Ok(DigestSettings { max_context_refs, model: model.transpose()? })
}

/// The bounds of a project's runs.
pub fn limits(project: &Project) -> RunLimits {
    let (settings, defaults) = (&project.settings.limits, RunLimits::default());
    RunLimits {
        parallel_steps: settings.parallel_steps.map_or(defaults.parallel_steps, |steps| steps as usize),
        run: settings.run_seconds.map_or(defaults.run, Duration::from_secs),
        tool_rounds: settings.tool_rounds.map_or(defaults.tool_rounds, |rounds| rounds as usize),
        state_bytes: settings.state_bytes.unwrap_or(defaults.state_bytes),
        result_bytes: settings.result_bytes.unwrap_or(defaults.result_bytes),
        log_bytes: settings.log_bytes.unwrap_or(defaults.log_bytes),
        output_bytes: settings.output_bytes.unwrap_or(defaults.output_bytes),
        kept_prompt_bytes: match project.settings.journal.prompts {
            Some(false) => 0,
            _ => defaults.kept_prompt_bytes,
        },
        ..defaults
    }
}

pub(crate) fn transport(
    models: &Models,
    clock: &Arc<dyn Clock>,
    secrets: &[(String, Secret)],
) -> Result<(Arc<dyn Transport>, Option<Recorded>), Stop> {
    let redactor = || Redactor::new(secrets.iter().map(|(_, secret)| secret.clone()));
    let client = || {
        Client::new(&ClientOptions::default(), Arc::clone(clock))
            .map_err(|error| Stop::internal(format!("the model client cannot be made: {error}")))
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
pub fn worker() -> Result<WorkerCommand, Stop> {
    let program = std::env::current_exe()
        .map_err(|error| Stop::internal(format!("this program cannot find itself: {error}")))?;
    Ok(WorkerCommand { program, arguments: vec![OsString::from("py-worker")] })
}

/// The secrets that a document can use: those that it names and the project lists, and the keys of the providers. No
/// other variable of the environment comes in.
pub fn secret_values(project: &Project, document: &Document) -> Vec<(String, Secret)> {
    let value = |name: String| project.secret(&name).map(|value| (name, value));
    secret_names(project, document).into_iter().filter_map(value).collect()
}

/// The key of a provider for a model at an endpoint, when the project sends it there.
pub(crate) fn provider_key(project: &Project, provider: Provider, endpoint: Option<&str>) -> Option<Secret> {
    let name = Secrets::provider_key_name(provider.word());
    let value = project.secret(&name).map(|value| (name, value));
    secrets(project, value.into_iter().collect()).provider_key(provider, endpoint).cloned()
}

/// Values with what the project lists about their receivers.
fn secrets(project: &Project, values: Vec<(String, Secret)>) -> Secrets {
    let settings = &project.settings;
    Secrets::new(values, settings.secrets.listed.clone(), settings.key_hosts())
}

/// The same names with values that mean nothing, for runs that reach nobody. What the project lists holds as ever.
pub fn placeholder_secrets(project: &Project, document: &Document) -> Secrets {
    let names = secret_names(project, document).into_iter();
    let values = names.map(|name| (name, Secret::new("the-placeholder-of-a-secret".to_owned())));
    secrets(project, values.collect())
}

/// A client that refuses no host, for runs whose requests do not go out.
pub fn any_host() -> Result<HttpClient, Stop> {
    HttpClient::new(AllowList::everywhere()).map_err(|error| Stop::internal(error.to_string()))
}

fn secret_names(project: &Project, document: &Document) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for node in &document.graph.nodes {
        node.with.values().for_each(|value| add_secret_names(value, &mut names));
    }
    names.retain(|name| project.settings.secrets.listed.contains_key(name));
    names.extend(Provider::ALL.iter().map(|provider| Secrets::provider_key_name(provider.word())));
    names
}

/// The tool servers that a project names. They are started or reached when a tool is first called.
fn tool_servers(project: &Project) -> McpServers {
    let value = |name: &String| project.secret(name).map(|value| (name.clone(), value.expose().to_owned()));
    let passed_on = PASSED_ON.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let passed_on: Vec<(String, String)> = passed_on.collect();
    let servers = project.settings.mcp.iter().map(|(name, server)| {
        let server = match server.clone() {
            McpServer::Command { program, arguments, environment } => McpEndpoint::Command {
                program,
                arguments,
                folder: project.root.clone(),
                environment: passed_on.iter().cloned().chain(environment.iter().filter_map(value)).collect(),
            },
            McpServer::Http { url, bearer } => {
                let bearer = bearer.as_ref().and_then(|name| project.secret(name));
                McpEndpoint::Http { url, bearer }
            }
        };
        (name.clone(), server)
    });
    McpServers::new(servers)
}

/// The prices that Stave knows, with those of the project over them.
#[must_use]
pub fn prices(project: &Project) -> Prices {
    Prices::built_in().with_rows(&project.settings.prices)
}
