//! A project: the folder with `stave.toml`, and what the file sets. Nothing needs the file to run.

mod accepts;
mod engine;
mod gateway;
mod governance;
mod journal;
mod mcp;
mod opcua;
mod read;
mod secrets;
mod stores;
mod system;
mod telemetry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stave_diag::{Diagnostic, Sources};
use stave_lower::DefaultModel;
use stave_system::deploy::DeployOptions;
use stave_system::policy::CheckPolicies;

use crate::exit::Stop;
use crate::files;

pub(crate) use engine::EngineSettings;
pub(crate) use gateway::{GatewaySettings, UpstreamSettings};
pub(crate) use governance::{GovernanceSettings, PromptSettings};
pub(crate) use journal::JournalSettings;
pub(crate) use mcp::McpServer;
pub(crate) use opcua::OpcuaSettings;
pub(crate) use read::read;
pub(crate) use stores::{StateBackend, StoreSettings};
pub(crate) use system::Signing;
pub(crate) use telemetry::TelemetrySettings;

/// The project file's name.
pub(crate) const FILE: &str = "stave.toml";

/// The folders of a project that hold other YAML than flows.
pub(crate) const POLICIES: &str = "policies";
pub(crate) const TEMPLATES: &str = "templates";
pub(crate) const KNOWLEDGE: &str = "knowledge";
const RECORDINGS: &str = "recordings";

/// What a project sets, with the defaults of a project that sets nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Settings {
    pub(crate) tenant: Option<String>,
    pub(crate) repo: Option<String>,
    pub(crate) policy: Option<String>,
    /// `None` allows public hosts, a list these hosts only.
    pub(crate) http_allow: Option<Vec<String>>,
    /// Variables of the environment that flows may have although they look like secrets.
    pub(crate) context_env: Vec<String>,
    /// The folder with a file for each secret, relative to the project.
    pub(crate) secrets_folder: Option<String>,
    /// Hosts that models may be asked at besides their providers' own.
    pub(crate) model_hosts: Vec<String>,
    pub(crate) default_model: Option<DefaultModel>,
    pub(crate) stores: StoreSettings,
    /// The tool servers by name.
    pub(crate) mcp: BTreeMap<String, McpServer>,
    /// The recording that answers model calls, relative to the project.
    pub(crate) replay: Option<String>,
    pub(crate) limits: LimitSettings,
    /// What a run may use up.
    pub(crate) budget: stave_canon::Object,
    pub(crate) journal: JournalSettings,
    pub(crate) engine: EngineSettings,
    /// The whole file, when it has a `[prices]` table for the price table to read.
    pub(crate) prices: Option<String>,
    /// What receivers outside a flow may be given.
    pub(crate) accepts: stave_flow::Scopes,
    /// What happens to restricted data on its way to a model that may not have it.
    pub(crate) restricted: Option<String>,
    pub(crate) governance: GovernanceSettings,
    pub(crate) prompt: PromptSettings,
    /// How strictly system documents and bundles are checked.
    pub(crate) checks: CheckPolicies,
    pub(crate) signing: Signing,
    pub(crate) deploy: DeployOptions,
    pub(crate) gateway: GatewaySettings,
    pub(crate) telemetry: TelemetrySettings,
    pub(crate) opcua: OpcuaSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LimitSettings {
    pub(crate) parallel_steps: Option<u64>,
    pub(crate) run_seconds: Option<u64>,
    pub(crate) tool_rounds: Option<u64>,
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) state_bytes: Option<u64>,
    pub(crate) result_bytes: Option<u64>,
    pub(crate) log_bytes: Option<u64>,
    pub(crate) output_bytes: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Project {
    /// The folder with the project file, or the flow's own folder.
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    /// Whether there is a project file.
    pub(crate) has_file: bool,
}

impl Project {
    /// Finds the project of a file: the nearest folder above it that has a project file. What is wrong
    /// with the file is added to `diagnostics`.
    pub(crate) fn of(
        file: &Path,
        sources: &mut Sources,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Project, Stop> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let start = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let found = start.ancestors().map(|folder| folder.join(FILE)).find(|path| path.is_file());
        let Some(path) = found else {
            return Ok(Project { root: start, settings: Settings::default(), has_file: false });
        };
        let text = files::read_text(&path)?;
        let name = files::shown(&path).display().to_string();
        let source = sources.add(name, text.as_str());
        let settings = read(source, &text, diagnostics);
        let root = path.parent().map_or_else(|| start.clone(), Path::to_path_buf);
        Ok(Project { root, settings, has_file: true })
    }

    /// The name of the policy set that is baked into documents.
    pub(crate) fn policy_ref(&self) -> String {
        self.settings.policy.clone().unwrap_or_else(|| "default".to_owned())
    }
}

/// Where the project of a project file keeps YAML that is no flow. What is wrong with the file is told to whoever
/// asks for its settings.
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
