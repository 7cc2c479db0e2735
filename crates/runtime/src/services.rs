//! Everything a run needs from outside, as ports that the caller fills.

use std::sync::Arc;
use std::time::Duration;

use stave_block::SensitivityPolicy;
use stave_canon::{Clock, Ids, Object};
use stave_llm::prices::Prices;
use stave_llm::{Provider, Transport};
use stave_prompt::plugins::ConfiguredPlugin;
use stave_prompt::resolve::ReferenceSource;
use stave_request::ModelPlanning;
use stave_script::{PythonPool, TemplateRenderer};

use crate::cache::ResultCache;
use crate::features::FeatureStore;
use crate::heavy_work::HeavyWork;
use crate::http::HttpClient;
use crate::journal::Journal;
use crate::model_hosts::ModelHosts;
use crate::observer::RunObserver;
use crate::opcua::Opcua;
use crate::secrets::Secrets;
use crate::state::StateStore;
use crate::tool_servers::ToolServers;
use crate::trace::Tracer;

/// The outside world of a run.
#[derive(Debug, Clone)]
pub struct Services {
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub python: Arc<PythonPool>,
    pub templates: Arc<TemplateRenderer>,
    pub models: Arc<dyn Transport>,
    /// Plans what providers' caches keep of model calls; without it calls are sent as they are.
    pub planning: Option<Arc<ModelPlanning>>,
    pub prices: Arc<Prices>,
    pub http: HttpClient,
    /// Where models may be asked besides at their providers' own addresses.
    pub model_hosts: ModelHosts,
    pub state: Arc<dyn StateStore>,
    pub journal: Arc<dyn Journal>,
    pub cache: Arc<dyn ResultCache>,
    pub observer: Arc<dyn RunObserver>,
    pub tracer: Arc<dyn Tracer>,
    pub features: Arc<dyn FeatureStore>,
    pub tool_servers: Arc<dyn ToolServers>,
    /// Without it there are no `opcua.*` steps.
    pub opcua: Option<Arc<dyn Opcua>>,
    pub secrets: Secrets,
    /// When references become a digest, and who writes it.
    pub digests: DigestSettings,
    /// Where the files and diffs of `context_refs` come from.
    pub references: Arc<dyn ReferenceSource>,
    /// The plugins that every prompt passes, in their order. The budget optimizer among them is held to the room of each
    /// prompt.
    pub prompt_plugins: Vec<ConfiguredPlugin>,
    /// What takes long on large values; the flows of a tenant share it.
    pub heavy_work: Arc<HeavyWork>,
    /// What the project says about content on its way to models. What is done with restricted content is in the document.
    pub gate: Arc<SensitivityPolicy>,
    pub limits: RunLimits,
    /// The policy that the project bakes into documents now. A resumed run is held to it as far as it is stricter
    /// than the policy that the run began under; without one, a run keeps its own.
    pub policy: Option<Arc<Object>>,
}

/// What becomes of many references of one prompt.
#[derive(Debug, Clone)]
pub struct DigestSettings {
    /// More references than these become one digest.
    pub max_context_refs: usize,
    /// Who writes digests; without one they are made of the references' own lines.
    pub model: Option<DigestModel>,
}

/// A cheap model that writes digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestModel {
    pub provider: Provider,
    pub name: String,
    /// The provider's own address when absent.
    pub endpoint: Option<String>,
}

impl Default for DigestSettings {
    fn default() -> Self {
        DigestSettings { max_context_refs: 10, model: None }
    }
}

/// Bounds on one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// How many steps work at the same time.
    pub parallel_steps: usize,
    /// The longest a run may take, whatever its document says.
    pub run: Duration,
    /// How often a model may call tools before it has to answer.
    pub tool_rounds: usize,
    /// The largest HTTP body that a step reads.
    pub http_body_bytes: usize,
    /// How much of what models are asked is kept for each node of a run; 0 keeps nothing.
    pub kept_prompt_bytes: usize,
    /// The bytes that a run may write to state records, counted over resumes.
    pub state_bytes: u64,
    /// The bytes of all results of steps, values of edges and answers of models that a run may have.
    pub result_bytes: u64,
    /// The bytes that the code of a run may print.
    pub log_bytes: u64,
    /// The largest output of a run.
    pub output_bytes: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits {
            parallel_steps: 16,
            run: Duration::from_secs(3600),
            tool_rounds: 8,
            http_body_bytes: 16 * 1024 * 1024,
            kept_prompt_bytes: 256 * 1024,
            state_bytes: 64 * 1024 * 1024,
            result_bytes: 256 * 1024 * 1024,
            log_bytes: 8 * 1024 * 1024,
            output_bytes: 16 * 1024 * 1024,
        }
    }
}
