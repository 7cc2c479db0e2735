//! `[gateway]`: whom the gateway asks, for which models, within which bounds.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use stave_block::{Sensitivity, Surface};
use stave_gateway::{
    BreakerConfig, Enforcement, GatewayLimits, GatewayTimeouts, ModelRoute, Planning, RequestLabels, Retries,
};
use stave_llm::Provider;
use stave_lower::RewritePolicy;

use super::gateway_table::{
    BreakerTable, EnforcementWord, FailureWord, GatewayLimitsTable, GatewayTable, InterfaceWord,
    RetriesTable, RouteTable, UpstreamTable,
};

/// The default address that the gateway listens on.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8090);

/// What a project sets about its gateway.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GatewaySettings {
    pub listen: Option<SocketAddr>,
    pub upstreams: Vec<UpstreamSettings>,
    pub models: Vec<ModelRoute>,
    pub limits: GatewayLimits,
    pub timeouts: GatewayTimeouts,
    pub retries: Retries,
    pub breaker: BreakerConfig,
    pub enforcement: Option<Enforcement>,
    pub gate: Option<bool>,
    pub forward_unreadable: bool,
    pub forward_unjudged: bool,
    pub planning: Planning,
    pub labels: RequestLabels,
}

/// An upstream, with its key still by name.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamSettings {
    pub name: String,
    pub provider: Provider,
    pub endpoint: Option<String>,
    /// The variable that holds the key.
    pub key: Option<String>,
    pub api_version: Option<String>,
    pub interfaces: Vec<Surface>,
    pub models: Vec<String>,
    pub concurrency: Option<u64>,
    pub accepts: Option<Sensitivity>,
    pub timeouts: Option<GatewayTimeouts>,
}

/// The most connections that can be asked for; each takes a place in a table.
const MOST_CONNECTIONS: usize = 1 << 20;

impl GatewayTable {
    pub(super) fn settings(self) -> GatewaySettings {
        let defaults = GatewaySettings::default();
        let times = [self.timeouts.connect_ms, self.timeouts.first_byte_ms, self.timeouts.idle_ms];
        let timeouts = with_times(defaults.timeouts, times);
        let is = |word: Option<FailureWord>, meant: FailureWord| word == Some(meant);
        let fail_closed = match self.on_planning_failure {
            Some(word) => word == FailureWord::Refuse,
            None => defaults.planning.fail_closed,
        };
        // Names and values of headers are compared in small letters.
        let values = |values: BTreeMap<String, Sensitivity>| {
            values.into_iter().map(|(value, label)| (value.to_ascii_lowercase(), label)).collect()
        };
        let headers = self.labels.headers.into_iter();
        let labels = RequestLabels {
            keys: self.labels.keys,
            headers: headers.map(|(name, labels)| (name.to_ascii_lowercase(), values(labels))).collect(),
        };
        GatewaySettings {
            labels,
            listen: self.listen,
            upstreams: self
                .upstreams
                .into_iter()
                .map(|(name, upstream)| upstream.settings(name, timeouts))
                .collect(),
            models: self.models.0.into_iter().map(|(name, route)| route.route(name)).collect(),
            limits: self.limits.limits(),
            timeouts,
            retries: self.retries.retries(),
            breaker: self.breaker.breaker(),
            enforcement: self.governance.map(|word| match word {
                EnforcementWord::Enforce => Enforcement::Enforce,
                EnforcementWord::Report => Enforcement::Report,
                EnforcementWord::Off => Enforcement::Off,
            }),
            gate: self.gate,
            forward_unreadable: is(self.on_unreadable, FailureWord::Forward),
            forward_unjudged: is(self.on_policy_failure, FailureWord::Forward),
            planning: Planning {
                on: self.planning.unwrap_or(defaults.planning.on),
                fail_closed,
                rewrites: RewritePolicy { move_volatile: self.move_volatile, order_tools: self.order_tools },
            },
        }
    }
}

impl UpstreamTable {
    fn settings(self, name: String, timeouts: GatewayTimeouts) -> UpstreamSettings {
        let times = [self.connect_ms, self.first_byte_ms, self.idle_ms];
        UpstreamSettings {
            name,
            provider: self.provider,
            endpoint: self.endpoint,
            key: self.key.map(|secret| secret.0),
            api_version: self.api_version,
            interfaces: self
                .interfaces
                .into_iter()
                .map(|interface| match interface {
                    InterfaceWord::ChatCompletions => Surface::OpenAiChat,
                    InterfaceWord::Responses => Surface::OpenAiResponses,
                    InterfaceWord::Messages => Surface::AnthropicMessages,
                })
                .collect(),
            models: self.models,
            concurrency: self.concurrency,
            accepts: self.accepts,
            timeouts: times.iter().any(Option::is_some).then(|| with_times(timeouts, times)),
        }
    }
}

impl RouteTable {
    fn route(self, name: String) -> ModelRoute {
        ModelRoute {
            name,
            targets: self.targets.into_iter().map(|target| target.0).collect(),
            fallback: self.fallback.into_iter().map(|target| target.0).collect(),
            fallback_on: self.fallback_on.into_iter().map(|class| class.0).collect(),
        }
    }
}

impl GatewayLimitsTable {
    fn limits(&self) -> GatewayLimits {
        let defaults = GatewayLimits::default();
        let size = |set: Option<u64>, default: usize| {
            set.map_or(default, |size| usize::try_from(size).unwrap_or(usize::MAX))
        };
        GatewayLimits {
            body_bytes: size(self.body_bytes, defaults.body_bytes),
            headers: size(self.headers, defaults.headers),
            header_bytes: size(self.header_bytes, defaults.header_bytes),
            connections: size(self.connections, defaults.connections).min(MOST_CONNECTIONS),
            concurrency: size(self.concurrency, defaults.concurrency),
            waiting: size(self.waiting, defaults.waiting),
            queue: time(self.queue_ms, defaults.queue),
            header_reading: time(self.header_ms, defaults.header_reading),
            body_reading: time(self.body_ms, defaults.body_reading),
            drain: time(self.drain_ms, defaults.drain),
            reply_bytes: size(self.reply_bytes, defaults.reply_bytes),
        }
    }
}

impl RetriesTable {
    fn retries(&self) -> Retries {
        let defaults = Retries::default();
        Retries {
            attempts: self.attempts.unwrap_or(defaults.attempts),
            backoff: time(self.backoff_ms, defaults.backoff),
            longest: time(self.longest_ms, defaults.longest),
            share: self.share_percent.map_or(defaults.share, |percent| f64::from(percent) / 100.0),
            burst: self.burst.unwrap_or(defaults.burst),
        }
    }
}

impl BreakerTable {
    fn breaker(&self) -> BreakerConfig {
        let defaults = BreakerConfig::default();
        BreakerConfig {
            failures: self.failures.unwrap_or(defaults.failures),
            pause: time(self.pause_ms, defaults.pause),
            longest_pause: time(self.longest_pause_ms, defaults.longest_pause),
        }
    }
}

fn with_times(defaults: GatewayTimeouts, [connect, first_byte, idle]: [Option<u64>; 3]) -> GatewayTimeouts {
    GatewayTimeouts {
        connect: time(connect, defaults.connect),
        first_byte: time(first_byte, defaults.first_byte),
        idle: time(idle, defaults.idle),
    }
}

fn time(set: Option<u64>, default: Duration) -> Duration {
    set.map_or(default, Duration::from_millis)
}
