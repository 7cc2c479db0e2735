//! `[gateway]`: whom the gateway asks, for which models, within which bounds.

use std::net::SocketAddr;
use std::time::Duration;

use stave_block::{SensitivityLabel, Surface};
use stave_gateway::{
    BreakerConfig, Enforcement, FaultClass, GatewayLimits, GatewayTimeouts, ModelRoute, Planning, Retries,
    RouteTarget,
};
use stave_llm::Provider;
use stave_lower::RewritePolicy;
use toml::Spanned;
use toml::de::DeValue;

use super::read::{Reader, Table};

/// What a project sets about its gateway.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct GatewaySettings {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) upstreams: Vec<UpstreamSettings>,
    pub(crate) models: Vec<ModelRoute>,
    pub(crate) limits: GatewayLimits,
    pub(crate) timeouts: GatewayTimeouts,
    pub(crate) retries: Retries,
    pub(crate) breaker: BreakerConfig,
    pub(crate) enforcement: Option<Enforcement>,
    pub(crate) gate: Option<bool>,
    pub(crate) forward_unreadable: bool,
    pub(crate) forward_unjudged: bool,
    pub(crate) planning: Planning,
}

/// An upstream, with its key still by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UpstreamSettings {
    pub(crate) name: String,
    pub(crate) provider: Provider,
    pub(crate) endpoint: Option<String>,
    /// The variable that holds the key.
    pub(crate) key: Option<String>,
    pub(crate) api_version: Option<String>,
    pub(crate) interfaces: Vec<Surface>,
    pub(crate) models: Vec<String>,
    pub(crate) concurrency: Option<u64>,
    pub(crate) accepts: Option<SensitivityLabel>,
    pub(crate) timeouts: Option<GatewayTimeouts>,
}

const SETTINGS: [&str; 14] = [
    "listen",
    "governance",
    "gate",
    "on_unreadable",
    "on_policy_failure",
    "planning",
    "on_planning_failure",
    "move_volatile",
    "order_tools",
    "upstreams",
    "models",
    "limits",
    "timeouts",
    "retries",
];

impl Reader<'_> {
    pub(super) fn gateway(&mut self, root: &Table<'_>) -> GatewaySettings {
        let Some(table) = self.table(root, "gateway") else { return GatewaySettings::default() };
        let known: Vec<&str> = SETTINGS.into_iter().chain(["breaker"]).collect();
        self.known(table, "gateway.", &known);
        let defaults = GatewaySettings::default();
        let listen = self.text(table, "listen").and_then(|text| {
            let address = text.parse().ok();
            if address.is_none() {
                self.bad_value(table, "listen", "an address and a port, such as \"127.0.0.1:8090\"");
            }
            address
        });
        let enforcement = self.word(
            table,
            "governance",
            &[("enforce", Enforcement::Enforce), ("report", Enforcement::Report), ("off", Enforcement::Off)],
        );
        let unreadable = self.word(table, "on_unreadable", &[("refuse", false), ("forward", true)]);
        let unjudged = self.word(table, "on_policy_failure", &[("refuse", false), ("forward", true)]);
        let failure = self.word(table, "on_planning_failure", &[("forward", false), ("refuse", true)]);
        let planning = Planning {
            on: self.flag(table, "planning").unwrap_or(defaults.planning.on),
            fail_closed: failure.unwrap_or(defaults.planning.fail_closed),
            rewrites: RewritePolicy {
                move_volatile: self.flag(table, "move_volatile").unwrap_or_default(),
                order_tools: self.flag(table, "order_tools").unwrap_or_default(),
            },
        };
        let timeouts = self.table(table, "timeouts");
        if let Some(timeouts) = timeouts {
            self.known(timeouts, "gateway.timeouts.", &TIMEOUTS);
        }
        let timeouts =
            timeouts.map_or(defaults.timeouts, |timeouts| self.timeouts(timeouts, defaults.timeouts));
        GatewaySettings {
            listen,
            upstreams: self.upstreams(table, timeouts),
            models: self.routes(table),
            limits: self.gateway_limits(table),
            timeouts,
            retries: self.retries(table),
            breaker: self.breaker(table),
            enforcement,
            gate: self.flag(table, "gate"),
            forward_unreadable: unreadable.unwrap_or_default(),
            forward_unjudged: unjudged.unwrap_or_default(),
            planning,
        }
    }

    fn upstreams(&mut self, table: &Table<'_>, timeouts: GatewayTimeouts) -> Vec<UpstreamSettings> {
        let Some(upstreams) = self.table(table, "upstreams") else { return Vec::new() };
        let names: Vec<String> = upstreams.keys().map(|name| name.get_ref().to_string()).collect();
        names.iter().filter_map(|name| self.upstream(upstreams, name, timeouts)).collect()
    }

    fn upstream(
        &mut self,
        upstreams: &Table<'_>,
        name: &str,
        timeouts: GatewayTimeouts,
    ) -> Option<UpstreamSettings> {
        let table = self.table(upstreams, name)?;
        let mut known = vec![
            "provider",
            "endpoint",
            "key",
            "api_version",
            "interfaces",
            "models",
            "concurrency",
            "accepts",
        ];
        known.extend(TIMEOUTS);
        self.known(table, &format!("gateway.upstreams.{name}."), &known);
        let providers = [
            ("openai", Provider::OpenAi),
            ("openai-responses", Provider::OpenAiResponses),
            ("anthropic", Provider::Anthropic),
            ("azure", Provider::Azure),
        ];
        let Some(provider) = self.word(table, "provider", &providers) else {
            if !table.contains_key("provider") {
                self.bad_value(upstreams, name, "a table with a `provider`");
            }
            return None;
        };
        let key = self.text(table, "key").and_then(|text| {
            let name = text.strip_prefix("${secrets.").and_then(|rest| rest.strip_suffix('}'));
            if name.is_none() {
                self.bad_value(table, "key", "\"${secrets.NAME}\"");
            }
            name.map(str::to_owned)
        });
        let interfaces = [
            ("chat_completions", Surface::OpenAiChat),
            ("responses", Surface::OpenAiResponses),
            ("messages", Surface::AnthropicMessages),
        ];
        let own_timeouts = TIMEOUTS.iter().any(|key| table.contains_key(*key));
        Some(UpstreamSettings {
            name: name.to_owned(),
            provider,
            endpoint: self.text(table, "endpoint"),
            key,
            api_version: self.text(table, "api_version"),
            interfaces: self.words(table, "interfaces", &interfaces),
            models: self.texts(table, "models").unwrap_or_default(),
            concurrency: self.positive(table, "concurrency"),
            accepts: self.word(
                table,
                "accepts",
                &[
                    ("public", SensitivityLabel::Public),
                    ("private", SensitivityLabel::Private),
                    ("restricted", SensitivityLabel::Restricted),
                ],
            ),
            timeouts: own_timeouts.then(|| self.timeouts(table, timeouts)),
        })
    }

    fn routes(&mut self, table: &Table<'_>) -> Vec<ModelRoute> {
        let Some(models) = self.table(table, "models") else { return Vec::new() };
        let mut names: Vec<(usize, String)> =
            models.keys().map(|name| (name.span().start, name.get_ref().to_string())).collect();
        // The first that fits counts, so the order of the file is kept.
        names.sort();
        let mut routes = Vec::new();
        for (_, name) in names {
            let Some(route) = self.table(models, &name) else { continue };
            self.known(route, &format!("gateway.models.{name}."), &["targets", "fallback", "fallback_on"]);
            let classes: Vec<(&str, FaultClass)> =
                FaultClass::ALL.iter().map(|class| (class.word(), *class)).collect();
            let fallback_on = if route.contains_key("fallback_on") {
                self.words(route, "fallback_on", &classes)
            } else {
                FaultClass::PASSING.to_vec()
            };
            let targets = self.targets(route, "targets");
            if targets.is_empty() && !route.contains_key("targets") {
                self.bad_value(models, &name, "a table with `targets`");
            }
            let fallback = self.targets(route, "fallback");
            if !targets.is_empty() {
                routes.push(ModelRoute { name, targets, fallback, fallback_on });
            }
        }
        routes
    }

    /// `"upstream"`, `"upstream/model"` or `{ upstream, model, weight }`.
    fn targets(&mut self, route: &Table<'_>, key: &str) -> Vec<RouteTarget> {
        let wanted = "a list of \"UPSTREAM\", \"UPSTREAM/MODEL\" or { upstream, model, weight }";
        let items = match route.get(key).map(Spanned::get_ref) {
            None => return Vec::new(),
            Some(DeValue::Array(items)) => items,
            Some(_) => {
                self.bad_value(route, key, wanted);
                return Vec::new();
            }
        };
        let mut targets = Vec::new();
        for item in items {
            match item.get_ref() {
                DeValue::String(text) => {
                    let (upstream, model) = text
                        .split_once('/')
                        .map_or((&**text, None), |(upstream, model)| (upstream, Some(model)));
                    targets.push(RouteTarget {
                        upstream: upstream.to_owned(),
                        model: model.map(str::to_owned),
                        weight: 1,
                    });
                }
                DeValue::Table(table) => {
                    self.known(table, "", &["upstream", "model", "weight"]);
                    let weight = self.count(table, "weight").unwrap_or(1);
                    if let Some(upstream) = self.text(table, "upstream") {
                        targets.push(RouteTarget {
                            upstream,
                            model: self.text(table, "model"),
                            weight: u32::try_from(weight).unwrap_or(u32::MAX),
                        });
                    } else {
                        self.bad_value(route, key, wanted);
                    }
                }
                _ => self.bad_value(route, key, wanted),
            }
        }
        targets
    }

    fn gateway_limits(&mut self, table: &Table<'_>) -> GatewayLimits {
        let defaults = GatewayLimits::default();
        let Some(limits) = self.table(table, "limits") else { return defaults };
        self.known(
            limits,
            "gateway.limits.",
            &[
                "body_bytes",
                "headers",
                "header_bytes",
                "connections",
                "concurrency",
                "waiting",
                "queue_ms",
                "header_ms",
                "body_ms",
                "drain_ms",
                "reply_bytes",
            ],
        );
        let mut size = |key: &str, default: usize| {
            self.positive(limits, key).map_or(default, |size| usize::try_from(size).unwrap_or(usize::MAX))
        };
        let body_bytes = size("body_bytes", defaults.body_bytes);
        let headers = size("headers", defaults.headers);
        let header_bytes = size("header_bytes", defaults.header_bytes);
        let connections = size("connections", defaults.connections).min(1 << 20);
        let concurrency = size("concurrency", defaults.concurrency);
        let waiting = size("waiting", defaults.waiting);
        let reply_bytes = size("reply_bytes", defaults.reply_bytes);
        GatewayLimits {
            body_bytes,
            headers,
            header_bytes,
            connections,
            concurrency,
            waiting,
            queue: self.time(limits, "queue_ms", defaults.queue),
            header_reading: self.time(limits, "header_ms", defaults.header_reading),
            body_reading: self.time(limits, "body_ms", defaults.body_reading),
            drain: self.time(limits, "drain_ms", defaults.drain),
            reply_bytes,
        }
    }

    fn timeouts(&mut self, table: &Table<'_>, defaults: GatewayTimeouts) -> GatewayTimeouts {
        GatewayTimeouts {
            connect: self.time(table, "connect_ms", defaults.connect),
            first_byte: self.time(table, "first_byte_ms", defaults.first_byte),
            idle: self.time(table, "idle_ms", defaults.idle),
        }
    }

    fn retries(&mut self, table: &Table<'_>) -> Retries {
        let defaults = Retries::default();
        let Some(retries) = self.table(table, "retries") else { return defaults };
        self.known(
            retries,
            "gateway.retries.",
            &["attempts", "backoff_ms", "longest_ms", "share_percent", "burst"],
        );
        let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Retries {
            attempts: self.count(retries, "attempts").map_or(defaults.attempts, small),
            backoff: self.time(retries, "backoff_ms", defaults.backoff),
            longest: self.time(retries, "longest_ms", defaults.longest),
            share: self
                .count(retries, "share_percent")
                .map_or(defaults.share, |percent| f64::from(small(percent)) / 100.0),
            burst: self.count(retries, "burst").map_or(defaults.burst, small),
        }
    }

    fn breaker(&mut self, table: &Table<'_>) -> BreakerConfig {
        let defaults = BreakerConfig::default();
        let Some(breaker) = self.table(table, "breaker") else { return defaults };
        self.known(breaker, "gateway.breaker.", &["failures", "pause_ms", "longest_pause_ms"]);
        let failures = self.positive(breaker, "failures");
        BreakerConfig {
            failures: failures.map_or(defaults.failures, |count| u32::try_from(count).unwrap_or(u32::MAX)),
            pause: self.time(breaker, "pause_ms", defaults.pause),
            longest_pause: self.time(breaker, "longest_pause_ms", defaults.longest_pause),
        }
    }

    fn time(&mut self, table: &Table<'_>, key: &str, default: Duration) -> Duration {
        self.positive(table, key).map_or(default, Duration::from_millis)
    }

    /// A whole number that may be 0.
    fn count(&mut self, table: &Table<'_>, key: &str) -> Option<u64> {
        match table.get(key)?.get_ref() {
            DeValue::Integer(integer) if integer.as_str() == "0" => Some(0),
            _ => self.positive(table, key),
        }
    }

    /// One of several words.
    fn word<T: Copy>(&mut self, table: &Table<'_>, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(table, key)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            self.bad_value(table, key, &one_of(words));
        }
        found
    }

    fn words<T: Copy>(&mut self, table: &Table<'_>, key: &str, words: &[(&str, T)]) -> Vec<T> {
        let texts = self.texts(table, key).unwrap_or_default();
        let found = |text: &String| words.iter().find(|(word, _)| word == text).map(|(_, meaning)| *meaning);
        let meant: Vec<T> = texts.iter().filter_map(found).collect();
        if meant.len() != texts.len() {
            self.bad_value(table, key, &format!("a list of {}", one_of(words)));
        }
        meant
    }
}

const TIMEOUTS: [&str; 3] = ["connect_ms", "first_byte_ms", "idle_ms"];

fn one_of<T>(words: &[(&str, T)]) -> String {
    let words: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    words.join(", ")
}
