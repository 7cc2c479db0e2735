//! What a gateway is set up to do: whom it asks, for which models, within which bounds.
//!
//! Invariant: everything here was read from the operator's own file. Nothing that a client sends becomes an
//! address.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::header::HeaderMap;
use stave_block::{Sensitivity, SensitivityPolicy, Surface};
use stave_llm::prices::Prices;
use stave_llm::{CONNECT_TIMEOUT, FaultClass, Provider, RetryPolicy, RetrySpacing, Secret};
use stave_lower::RewritePolicy;
use stave_prompt::governance::PolicySet;
use stave_prompt::plugins::ConfiguredPlugin;

/// The whole setup. It can be exchanged while the gateway runs.
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The tenant of requests that no key speaks for.
    pub tenant: String,
    pub upstreams: Vec<UpstreamConfig>,
    /// In the order of the file; the first that fits a model's name counts.
    pub models: Vec<ModelRoute>,
    pub limits: GatewayLimits,
    pub timeouts: GatewayTimeouts,
    pub retries: Retries,
    pub breaker: BreakerConfig,
    pub policy: RequestPolicy,
    pub planning: Planning,
    pub prices: Prices,
}

/// A provider, or a server that speaks like one.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamConfig {
    pub name: String,
    pub provider: Provider,
    /// The provider's public address when absent.
    pub endpoint: Option<String>,
    /// Without one, the client's own key is passed on.
    pub key: Option<Secret>,
    pub api_version: Option<String>,
    /// The interfaces it speaks, the preferred one first; those of its provider when empty.
    pub interfaces: Vec<Surface>,
    /// Names of models that go there when no route names them; `*` at the end stands for anything.
    pub models: Vec<String>,
    /// How many requests it gets at the same time.
    pub concurrency: Option<usize>,
    /// How sensitive the data may be that it is given.
    pub accepts: Sensitivity,
    pub timeouts: Option<GatewayTimeouts>,
}

/// Where requests for a model go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRoute {
    /// The model as clients name it; `*` at the end stands for anything.
    pub name: String,
    /// Shared by weight.
    pub targets: Vec<RouteTarget>,
    /// Asked in this order when the targets fail.
    pub fallback: Vec<RouteTarget>,
    /// What counts as failing.
    pub fallback_on: Vec<FaultClass>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTarget {
    pub upstream: String,
    /// The model's name there; as the client wrote it when absent.
    pub model: Option<String>,
    pub weight: u32,
}

/// Bounds on what clients can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayLimits {
    pub body_bytes: usize,
    pub headers: usize,
    pub header_bytes: usize,
    pub connections: usize,
    /// How many requests are with upstreams at the same time.
    pub concurrency: usize,
    /// How many more may wait for their turn.
    pub waiting: usize,
    /// How long one may wait.
    pub queue: Duration,
    /// How long a client may take to send a request's head.
    pub header_reading: Duration,
    /// How long it may take for the body.
    pub body_reading: Duration,
    /// How long requests are waited for when the gateway ends.
    pub drain: Duration,
    /// The largest reply that is turned into another interface's words.
    pub reply_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayTimeouts {
    pub connect: Duration,
    /// From the start of an attempt to the head of the reply, connecting included.
    pub first_byte: Duration,
    /// Between two pieces of a reply.
    pub idle: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// How often one upstream is asked again.
    pub attempts: u32,
    /// The first wait is drawn from zero to this; the bound doubles with each further wait.
    pub backoff: Duration,
    /// The longest wait. When the upstream asks for more, the next upstream is asked, or the client gets the
    /// answer.
    pub longest: Duration,
    /// How many retries are allowed per request, over all of them.
    pub share: f64,
    /// How many retries may be made at once beyond that.
    pub burst: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerConfig {
    /// So many failures in a row take an upstream out.
    pub failures: u32,
    /// For how long at first; each time that it fails again doubles it.
    pub pause: Duration,
    pub longest_pause: Duration,
}

/// What requests are judged by.
#[derive(Debug, Clone)]
pub struct RequestPolicy {
    pub governance: PolicySet,
    pub enforcement: Enforcement,
    pub sensitivity: SensitivityPolicy,
    pub labels: RequestLabels,
    /// Whether sensitive content is looked for at all.
    pub gate: bool,
    /// Whether a body that nobody can read, and so judge, is sent all the same.
    pub forward_unreadable: bool,
    /// Whether a request is sent as it came when judging it fails, rather than refused.
    pub forward_unjudged: bool,
    /// What may change the system text of a request, in this order.
    pub plugins: Vec<ConfiguredPlugin>,
}

/// The labels of whole requests, at the least: by who asks, and by what the client says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestLabels {
    /// By the name of the virtual key.
    pub keys: BTreeMap<String, Sensitivity>,
    /// By the name of a header, in small letters, and its value; `*` stands for any value that is not listed.
    pub headers: BTreeMap<String, BTreeMap<String, Sensitivity>>,
}

impl RequestLabels {
    /// The labels of a request, each with what it comes from. Without a header there is none, and a header that occurs
    /// several times counts with each value.
    pub(crate) fn of(&self, key: Option<&str>, headers: &HeaderMap) -> Vec<(&'static str, Sensitivity)> {
        let mut labels = Vec::new();
        if let Some(label) = key.and_then(|key| self.keys.get(key)) {
            labels.push(("key_label", *label));
        }
        for (name, values) in &self.headers {
            let given = headers.get_all(name.as_str()).iter().flat_map(|value| {
                let text = value.to_str().unwrap_or_default();
                text.split(',').map(|value| value.trim().to_ascii_lowercase())
            });
            let label = given.filter_map(|value| values.get(&value).or_else(|| values.get("*"))).max();
            labels.extend(label.map(|label| ("header_label", *label)));
        }
        labels
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// What a policy denies is refused.
    Enforce,
    /// It is sent and reported.
    Report,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planning {
    pub on: bool,
    /// Whether a request is refused whose plan fails, rather than sent as it came.
    pub fail_closed: bool,
    pub rewrites: RewritePolicy,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        GatewayConfig {
            tenant: "local".to_owned(),
            upstreams: Vec::new(),
            models: Vec::new(),
            limits: GatewayLimits::default(),
            timeouts: GatewayTimeouts::default(),
            retries: Retries::default(),
            breaker: BreakerConfig::default(),
            policy: RequestPolicy::default(),
            planning: Planning::default(),
            prices: Prices::built_in(),
        }
    }
}

impl UpstreamConfig {
    #[must_use]
    pub fn new(name: impl Into<String>, provider: Provider) -> Self {
        UpstreamConfig {
            name: name.into(),
            provider,
            endpoint: None,
            key: None,
            api_version: None,
            interfaces: Vec::new(),
            models: Vec::new(),
            concurrency: None,
            accepts: Sensitivity::Private,
            timeouts: None,
        }
    }

    /// The interfaces it speaks, the preferred one first.
    #[must_use]
    pub fn surfaces(&self) -> &[Surface] {
        if !self.interfaces.is_empty() {
            return &self.interfaces;
        }
        match self.provider {
            Provider::OpenAi => &[Surface::OpenAiChat, Surface::OpenAiResponses],
            Provider::OpenAiResponses => &[Surface::OpenAiResponses],
            Provider::Anthropic => &[Surface::AnthropicMessages],
            Provider::Azure => &[Surface::OpenAiChat],
            Provider::Ollama | Provider::Bedrock => &[],
        }
    }
}

impl Default for GatewayLimits {
    fn default() -> Self {
        GatewayLimits {
            body_bytes: 32 * 1024 * 1024,
            headers: 100,
            header_bytes: 64 * 1024,
            connections: 4096,
            concurrency: 1024,
            waiting: 4096,
            queue: Duration::from_secs(60),
            header_reading: Duration::from_secs(15),
            body_reading: Duration::from_secs(60),
            drain: Duration::from_secs(30),
            reply_bytes: 32 * 1024 * 1024,
        }
    }
}

impl Default for GatewayTimeouts {
    fn default() -> Self {
        GatewayTimeouts {
            connect: CONNECT_TIMEOUT,
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(300),
        }
    }
}

impl Default for Retries {
    fn default() -> Self {
        Retries {
            attempts: 1,
            backoff: Duration::from_millis(250),
            longest: Duration::from_secs(4),
            share: 0.2,
            burst: 10,
        }
    }
}

impl Retries {
    /// When one upstream is asked again.
    pub(crate) fn policy(&self) -> RetryPolicy {
        RetryPolicy {
            spacing: RetrySpacing::ExponentialJitter,
            retries: self.attempts,
            backoff: self.backoff,
            cap: self.longest,
            longest_retry_after: self.longest,
        }
    }
}

impl Default for BreakerConfig {
    fn default() -> Self {
        BreakerConfig { failures: 5, pause: Duration::from_secs(5), longest_pause: Duration::from_secs(60) }
    }
}

impl Default for RequestPolicy {
    fn default() -> Self {
        RequestPolicy {
            governance: PolicySet::strict(),
            enforcement: Enforcement::Enforce,
            sensitivity: SensitivityPolicy::default(),
            labels: RequestLabels::default(),
            gate: true,
            forward_unreadable: false,
            forward_unjudged: false,
            plugins: Vec::new(),
        }
    }
}

impl Default for Planning {
    fn default() -> Self {
        Planning { on: true, fail_closed: false, rewrites: RewritePolicy::default() }
    }
}

/// Whether a name fits a pattern that may end in `*`.
#[must_use]
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_closed_value_of_a_header_counts_and_a_star_is_any_other() {
        let levels = |levels: &[(&str, Sensitivity)]| -> BTreeMap<String, Sensitivity> {
            levels.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect()
        };
        let classes = levels(&[("open", Sensitivity::Public), ("*", Sensitivity::Restricted)]);
        let labels = RequestLabels {
            keys: levels(&[("billing", Sensitivity::Private)]),
            headers: [("x-data-class".to_owned(), classes)].into_iter().collect(),
        };
        let of = |key, values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("X-Data-Class", value.parse().unwrap());
            }
            labels.of(key, &headers)
        };
        assert_eq!(of(None, &[]), []);
        assert_eq!(of(Some("other"), &["Open"]), [("header_label", Sensitivity::Public)]);
        let both = [("key_label", Sensitivity::Private), ("header_label", Sensitivity::Restricted)];
        assert_eq!(of(Some("billing"), &["open", "patients"]), both);
        assert_eq!(of(Some("billing"), &["open, é"]), both);
    }

    #[test]
    fn a_star_at_the_end_stands_for_anything() {
        assert!(fits("claude-*", "claude-opus-5") && fits("*", "") && fits("a", "a"));
        assert!(!fits("claude-*", "gpt-5") && !fits("a", "ab"));
    }
}
