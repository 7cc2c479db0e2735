//! Everything a run needs from outside, as ports that the caller fills.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stave_canon::{Clock, Ids};
use stave_llm::prices::Prices;
use stave_llm::recording::Redactor;
use stave_llm::{Secret, SecretSearch, Transport};
use stave_prompt::plugins::Plugin;
use stave_script::{PythonPool, Templates};

use crate::cache::ResultCache;
use crate::features::FeatureStore;
use crate::http::HttpClient;
use crate::journal::Journal;
use crate::model_hosts::ModelHosts;
use crate::observer::Observer;
use crate::opcua::Opcua;
use crate::state::StateStore;
use crate::tool_servers::ToolServers;
use crate::trace::Tracer;

/// The outside world of a run.
#[derive(Debug, Clone)]
pub struct Services {
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub python: Arc<PythonPool>,
    pub templates: Arc<Templates>,
    pub models: Arc<dyn Transport>,
    pub prices: Arc<Prices>,
    pub http: HttpClient,
    /// Where models may be asked besides at their providers' own addresses.
    pub model_hosts: ModelHosts,
    pub state: Arc<dyn StateStore>,
    pub journal: Arc<dyn Journal>,
    pub cache: Arc<dyn ResultCache>,
    pub observer: Arc<dyn Observer>,
    pub tracer: Arc<dyn Tracer>,
    pub features: Arc<dyn FeatureStore>,
    pub tool_servers: Arc<dyn ToolServers>,
    /// Without it there are no `opcua.*` steps.
    pub opcua: Option<Arc<dyn Opcua>>,
    pub secrets: Secrets,
    /// The project's own plugins, which every prompt passes after the built-in one.
    pub prompt_plugins: Vec<Arc<dyn Plugin>>,
    pub limits: Limits,
}

/// Named secrets, resolved before the run. They are used in headers and addresses only.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    named: HashMap<String, Secret>,
    /// Made when somebody first answers.
    search: Arc<OnceLock<SecretSearch>>,
}

/// A secret of fewer bytes could be an ordinary word. It is looked for only in answers to a request that carried it.
const SHORTEST_SECRET: usize = 8;

impl Secrets {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.named.get(name)
    }

    /// The key of a provider: `OPENAI_API_KEY` and the like.
    #[must_use]
    pub fn provider_key(&self, provider: &str) -> Option<&Secret> {
        self.get(&Secrets::provider_key_name(provider))
    }

    /// The name of a provider's key; the interfaces of one provider share it.
    #[must_use]
    pub fn provider_key_name(provider: &str) -> String {
        let provider = provider.split('-').next().unwrap_or(provider);
        format!("{}_API_KEY", provider.to_ascii_uppercase())
    }

    /// The text with every secret in it replaced, for what the other side said: it may repeat what it was
    /// sent.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.redactor().text(text)
    }

    /// Takes every secret out of what is told to others.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.named.values().cloned())
    }

    /// What finds these secrets in the answer of a host, a tool or a model: it may repeat what it was sent, in this
    /// request or in another one. `carried` names the secrets that were part of the request.
    #[must_use]
    pub fn in_answers(&self, carried: &BTreeSet<String>) -> Cow<'_, SecretSearch> {
        let is_long = |secret: &Secret| secret.expose().len() >= SHORTEST_SECRET;
        let is_short = |name: &String| self.get(name).is_some_and(|secret| !is_long(secret));
        if carried.iter().any(is_short) {
            let wanted =
                self.named.iter().filter(|(name, secret)| is_long(secret) || carried.contains(*name));
            return Cow::Owned(SecretSearch::new(wanted.map(|(_, secret)| secret.clone())));
        }
        Cow::Borrowed(
            self.search.get_or_init(|| {
                SecretSearch::new(self.named.values().filter(|secret| is_long(secret)).cloned())
            }),
        )
    }
}

impl FromIterator<(String, Secret)> for Secrets {
    fn from_iter<I: IntoIterator<Item = (String, Secret)>>(secrets: I) -> Self {
        Secrets { named: secrets.into_iter().collect(), search: Arc::default() }
    }
}

/// Bounds on one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
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

impl Default for Limits {
    fn default() -> Self {
        Limits {
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
