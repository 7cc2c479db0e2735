//! A project: the folder with `stave.toml`, and what the file sets. Nothing needs the file to run.

mod accepts;
mod discovery;
mod engine;
mod file;
mod gate;
mod gateway;
mod gateway_table;
mod governance;
mod journal;
mod listed_host;
mod mcp;
mod named;
mod opcua;
mod plugin_setting;
mod read;
mod secrets;
mod stores;
mod system;
mod telemetry;
mod toml_node;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources};
use stave_llm::prices::PriceRow;
use stave_lower::DefaultModel;
use stave_runtime::RunLimits;
use stave_shape::Shape;
use stave_system::bundle::BundleOptions;
use stave_system::deploy::DeployOptions;
use stave_system::policy::CheckPolicies;

use crate::exit::Stop;
use crate::files;

pub use discovery::Reported;
pub use engine::{EngineChoice, EngineKind, EngineSettings};
pub use gate::GateSettings;
pub use gateway::{GatewaySettings, LISTEN, UpstreamSettings};
pub use governance::{GovernanceSettings, PromptSettings};
pub use journal::JournalSettings;
pub use mcp::McpServer;
pub use named::{KnownNames, names_flows, unknown_names};
pub use opcua::OpcuaSettings;
pub use plugin_setting::PluginSetting;
pub use read::read;
pub use secrets::{Environment, SecretSettings};
pub use stores::{StateBackend, StoreSettings};
pub use system::Signing;
pub use telemetry::TelemetrySettings;

/// The project file's name.
pub const FILE: &str = "stave.toml";

/// The folders of a project that hold other YAML than flows.
pub const POLICIES: &str = "policies";
pub(crate) const TEMPLATES: &str = "templates";
pub const KNOWLEDGE: &str = "knowledge";
const RECORDINGS: &str = "recordings";

/// What a project sets, with the defaults of a project that sets nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    pub tenant: Option<String>,
    pub repo: Option<String>,
    pub policy: Option<String>,
    /// `None` allows public hosts, a list these hosts only.
    pub http_allow: Option<Vec<String>>,
    /// The secrets and variables that flows may read.
    pub secrets: SecretSettings,
    /// Hosts that models may be asked at besides their providers' own.
    pub model_hosts: Vec<String>,
    pub default_model: Option<DefaultModel>,
    /// The cheap model that writes digests.
    pub digest_model: Option<DefaultModel>,
    pub stores: StoreSettings,
    /// The tool servers by name.
    pub mcp: BTreeMap<String, McpServer>,
    /// The recording that answers model calls, relative to the project.
    pub replay: Option<String>,
    /// The system document or bundle that every run is held to, relative to the project.
    pub bundle: Option<String>,
    /// The kinds of steps of other runtimes that workflows may be meant for.
    pub step_kinds: Vec<String>,
    pub limits: LimitSettings,
    /// What a run may use up.
    pub budget: stave_canon::Object,
    pub journal: JournalSettings,
    pub engine: EngineSettings,
    /// Prices and contexts of models, over those that Stave knows.
    pub prices: BTreeMap<String, PriceRow>,
    /// What receivers outside a flow may be given.
    pub accepts: stave_flow::Scopes,
    /// What happens to restricted data on its way to a model that may not have it.
    pub restricted: Option<String>,
    pub gate: GateSettings,
    pub governance: GovernanceSettings,
    pub prompt: PromptSettings,
    /// How strictly system documents and bundles are checked.
    pub checks: CheckPolicies,
    pub signing: Signing,
    /// How runtime bundles are made, but for what follows from the checks.
    pub bundle_options: BundleOptions,
    pub deploy: DeployOptions,
    pub gateway: GatewaySettings,
    pub telemetry: TelemetrySettings,
    pub opcua: OpcuaSettings,
}

/// The limits of every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Shape)]
#[shape(not_null, name = "Limits")]
pub struct LimitSettings {
    /// How many steps work at the same time.
    #[shape(min = 1, unset = RunLimits::default().parallel_steps as u64)]
    pub parallel_steps: Option<u64>,
    /// The longest that a run may take, in seconds.
    #[shape(min = 1, unset = RunLimits::default().run.as_secs())]
    pub run_seconds: Option<u64>,
    /// How often a model may call tools before it has to answer.
    #[shape(min = 1, unset = RunLimits::default().tool_rounds as u64)]
    pub tool_rounds: Option<u64>,
    /// The most tokens of a prompt; without a limit of the project when absent.
    #[shape(min = 1)]
    pub prompt_tokens: Option<u64>,
    /// The bytes that a run may write to state records.
    #[shape(min = 1, unset = RunLimits::default().state_bytes)]
    pub state_bytes: Option<u64>,
    /// The bytes of all results of steps, values of edges and answers of models of a run.
    #[shape(min = 1, unset = RunLimits::default().result_bytes)]
    pub result_bytes: Option<u64>,
    /// The bytes that the code of a run may print.
    #[shape(min = 1, unset = RunLimits::default().log_bytes)]
    pub log_bytes: Option<u64>,
    /// The largest output of a run, in bytes.
    #[shape(min = 1, unset = RunLimits::default().output_bytes)]
    pub output_bytes: Option<u64>,
}

/// The JSON Schema of the project file.
pub fn schema() -> Value {
    stave_shape::document::<file::ProjectFile>("urn:stave:project", "stave.toml")
}

#[derive(Debug, Clone)]
pub struct Project {
    /// The folder with the project file, or the flow's own folder.
    pub root: PathBuf,
    pub settings: Settings,
    /// Whether there is a project file.
    pub has_file: bool,
    /// Project files between this one and what it was found for, which are not used.
    pub ignored: Vec<PathBuf>,
    /// The environment of the process, as far as the project may read it.
    pub environment: Environment,
    /// The system document or bundle that a command holds every run to, beside the one of the settings.
    pub also_held_to: Option<PathBuf>,
}

impl Project {
    /// Finds the project that a file is worked on for, as `discovery` says. What is wrong with the project file, and
    /// project files that are not used, are added to `diagnostics`.
    pub fn of(
        file: &Path,
        sources: &mut Sources,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Project, Stop> {
        Project::load(discovery::find(file), sources, diagnostics)
    }

    /// The project of a folder that the operator names.
    pub fn at(
        folder: &Path,
        sources: &mut Sources,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Project, Stop> {
        Project::load(discovery::at(folder), sources, diagnostics)
    }

    fn load(
        found: discovery::Found,
        sources: &mut Sources,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Project, Stop> {
        let discovery::Found { file, folder, ignored } = found;
        diagnostics.extend(ignored.iter().map(|found| discovery::report(found, file.as_deref(), sources)));
        let project = Project {
            root: folder,
            settings: Settings::default(),
            has_file: false,
            ignored,
            environment: Environment::default(),
            also_held_to: None,
        };
        let Some(path) = file else { return Ok(project) };
        let text = files::read_text(&path)?;
        let name = files::shown(&path).display().to_string();
        let source = sources.add(name, text.as_str());
        let settings = read(source, &text, diagnostics);
        let root = path.parent().map_or_else(|| project.root.clone(), Path::to_path_buf);
        Ok(Project { root, settings, has_file: true, ..project })
    }

    /// The name of the policy set that is baked into documents.
    pub fn policy_ref(&self) -> String {
        self.settings.policy.clone().unwrap_or_else(|| "default".to_owned())
    }
}

/// Where the project of a project file keeps YAML that is not a flow. Faults of the file are reported to callers that
/// ask for its settings.
pub(crate) fn other_yaml(file: &Path) -> Vec<PathBuf> {
    let root = file.parent().unwrap_or(Path::new(""));
    let mut other = [POLICIES, TEMPLATES, KNOWLEDGE, RECORDINGS].map(|folder| root.join(folder)).to_vec();
    if let Ok(text) = files::read_text(file) {
        let source = Sources::new().add(FILE, text.as_str());
        let replay = read(source, &text, &mut Vec::new()).replay.map(|replay| root.join(replay));
        // A setting that names a folder, such as the project's own, takes no flow away.
        other.extend(replay.filter(|path| path.is_file()));
    }
    other
}
