//! `[gateway]` as it is written.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use stave_block::Sensitivity;
use stave_canon::Value;
use stave_gateway::{
    BreakerConfig, FaultClass, GatewayLimits, GatewayTimeouts, Planning, Retries, RouteTarget,
};
use stave_llm::Provider;
use stave_shape::{
    Definitions, FaultKind, Ordered, Place, Reader, Shape, ValueKind, ValueNode, words_schema,
};

use super::file::SecretReference;
use super::gate::RequestLabelsTable;
use super::gateway::LISTEN;

/// The gateway between programs and model providers.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct GatewayTable {
    /// The address and port to listen on.
    #[shape(with = address, unset = LISTEN)]
    pub(super) listen: Option<SocketAddr>,
    /// What happens to requests that break a policy: they are refused, or sent and reported, or not judged.
    #[shape(unset = EnforcementWord::Enforce)]
    pub(super) governance: Option<EnforcementWord>,
    /// Whether sensitive content is looked for.
    #[shape(unset = true)]
    pub(super) gate: Option<bool>,
    /// What happens to requests that cannot be read.
    #[shape(unset = FailureWord::Refuse)]
    pub(super) on_unreadable: Option<FailureWord>,
    /// What happens to requests that policies fail on.
    #[shape(unset = FailureWord::Refuse)]
    pub(super) on_policy_failure: Option<FailureWord>,
    /// Whether requests get cache marks where they pay.
    #[shape(unset = Planning::default().on)]
    pub(super) planning: Option<bool>,
    /// What happens to requests whose plan fails.
    #[shape(unset = FailureWord::Forward)]
    pub(super) on_planning_failure: Option<FailureWord>,
    /// Whether parts that change in each request are moved behind those that stay.
    #[shape(default)]
    pub(super) move_volatile: bool,
    /// Whether tools are put in one order.
    #[shape(default)]
    pub(super) order_tools: bool,
    /// Whom the gateway asks, by name.
    #[shape(default)]
    pub(super) upstreams: BTreeMap<String, UpstreamTable>,
    /// Which upstreams answer for a model, by the name that clients use; `*` at the end stands for anything, and the
    /// first that fits counts.
    #[shape(default)]
    pub(super) models: Ordered<RouteTable>,
    #[shape(default)]
    pub(super) limits: GatewayLimitsTable,
    #[shape(default)]
    pub(super) timeouts: TimeoutsTable,
    #[shape(default)]
    pub(super) retries: RetriesTable,
    #[shape(default)]
    pub(super) breaker: BreakerTable,
    #[shape(default)]
    pub(super) labels: RequestLabelsTable,
}

/// How policies are enforced.
#[derive(Debug, Clone, Copy, Shape)]
pub(super) enum EnforcementWord {
    Enforce,
    Report,
    Off,
}

/// What happens to a request that the gateway cannot handle fully.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(super) enum FailureWord {
    Refuse,
    Forward,
}

/// An upstream.
#[derive(Debug, Shape)]
#[shape(not_null)]
pub(super) struct UpstreamTable {
    /// Whose interface it has.
    #[shape(with = upstream_provider)]
    pub(super) provider: Provider,
    /// The address of the interface; the provider's own when absent.
    pub(super) endpoint: Option<String>,
    /// The secret that is sent as key.
    pub(super) key: Option<SecretReference>,
    /// The version of the interface, which Azure asks for.
    pub(super) api_version: Option<String>,
    /// The interfaces that the upstream answers; those of the provider when empty.
    #[shape(default)]
    pub(super) interfaces: Vec<InterfaceWord>,
    /// The models that it has; any when empty.
    #[shape(default)]
    pub(super) models: Vec<String>,
    /// How many requests it gets at the same time.
    #[shape(min = 1)]
    pub(super) concurrency: Option<u64>,
    /// The most sensitive content that it is given.
    pub(super) accepts: Option<Sensitivity>,
    /// Its own time to connect, in milliseconds; that of `gateway.timeouts` when absent, as for the next two.
    #[shape(min = 1)]
    pub(super) connect_ms: Option<u64>,
    /// Its own time until the head of the reply, in milliseconds.
    #[shape(min = 1)]
    pub(super) first_byte_ms: Option<u64>,
    /// Its own time between two pieces of a reply, in milliseconds.
    #[shape(min = 1)]
    pub(super) idle_ms: Option<u64>,
}

/// The providers whose interfaces the gateway can pass requests on to.
mod upstream_provider {
    use stave_llm::Provider;
    use stave_shape::{Definitions, Place, Reader, Value, ValueNode, words_schema};

    const WORDS: &[&str] = &[
        Provider::OpenAi.word(),
        Provider::OpenAiResponses.word(),
        Provider::Anthropic.word(),
        Provider::Azure.word(),
    ];

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Provider> {
        reader.word(node, at, WORDS).and_then(|index| Provider::from_word(WORDS.get(index)?))
    }

    pub(super) fn write(provider: &Provider) -> Value {
        provider.word().into()
    }

    pub(super) fn schema(definitions: &mut Definitions) -> Value {
        definitions.named("UpstreamProvider", |_| words_schema("The providers that can be upstreams.", WORDS))
    }
}

/// The interfaces that clients and upstreams speak.
#[derive(Debug, Clone, Copy, Shape)]
pub(super) enum InterfaceWord {
    ChatCompletions,
    Responses,
    Messages,
}

/// A route.
#[derive(Debug, Shape)]
#[shape(not_null)]
pub(super) struct RouteTable {
    /// The upstreams that share the requests by weight.
    #[shape(filled)]
    pub(super) targets: Vec<Target>,
    /// The upstreams that are asked in this order when the targets fail.
    #[shape(default)]
    pub(super) fallback: Vec<Target>,
    /// What counts as failing.
    #[shape(default = FaultClass::PASSING.iter().map(|class| FaultWord(*class)).collect())]
    pub(super) fallback_on: Vec<FaultWord>,
}

/// `"UPSTREAM"`, `"UPSTREAM/MODEL"` or a table.
#[derive(Debug)]
pub(super) struct Target(pub(super) RouteTarget);

/// An upstream with a weight.
#[derive(Debug, Shape)]
#[shape(not_null)]
struct TargetTable {
    /// The upstream's name.
    upstream: String,
    /// The model's name there; as the client wrote it when absent.
    model: Option<String>,
    /// Its share of the requests.
    #[shape(default = 1)]
    weight: u32,
}

impl Shape for Target {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if let Some(text) = node.text() {
            let (upstream, model) =
                text.split_once('/').map_or((text, None), |(upstream, model)| (upstream, Some(model)));
            let (upstream, model) = (upstream.to_owned(), model.map(str::to_owned));
            return Some(Target(RouteTarget { upstream, model, weight: 1 }));
        }
        if node.kind() != ValueKind::Object {
            reader.wrong_type(node, at, "\"UPSTREAM\", \"UPSTREAM/MODEL\" or { upstream, model, weight }");
            return None;
        }
        let TargetTable { upstream, model, weight } = TargetTable::read(node, at, reader)?;
        Some(Target(RouteTarget { upstream, model, weight }))
    }

    fn write(&self) -> Value {
        let RouteTarget { upstream, model, weight } = self.0.clone();
        TargetTable { upstream, model, weight }.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![String::schema(definitions), TargetTable::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// A way in which an upstream can fail. The gateway has the words.
#[derive(Debug)]
pub(super) struct FaultWord(pub(super) FaultClass);

impl Shape for FaultWord {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, at, reader)?;
        let found = FaultClass::ALL.iter().find(|class| class.word() == text);
        if found.is_none() {
            let words: Vec<&str> = FaultClass::ALL.iter().map(|class| class.word()).collect();
            let message = format!("must be one of {}, not {text:?}", words.join(", "));
            reader.fault(at, node.span(), FaultKind::rule("value", message));
        }
        found.map(|class| FaultWord(*class))
    }

    fn write(&self) -> Value {
        self.0.word().into()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let words: Vec<&str> = FaultClass::ALL.iter().map(|class| class.word()).collect();
        definitions.named("UpstreamFault", |_| words_schema("A way in which an upstream can fail.", &words))
    }
}

/// The limits of the gateway.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct GatewayLimitsTable {
    /// The largest body of a request, in bytes.
    #[shape(min = 1, unset = GatewayLimits::default().body_bytes as u64)]
    pub(super) body_bytes: Option<u64>,
    /// The most headers of a request.
    #[shape(min = 1, unset = GatewayLimits::default().headers as u64)]
    pub(super) headers: Option<u64>,
    /// The bytes of all headers of a request.
    #[shape(min = 1, unset = GatewayLimits::default().header_bytes as u64)]
    pub(super) header_bytes: Option<u64>,
    /// The most connections of clients.
    #[shape(min = 1, unset = GatewayLimits::default().connections as u64)]
    pub(super) connections: Option<u64>,
    /// How many requests are with upstreams at the same time.
    #[shape(min = 1, unset = GatewayLimits::default().concurrency as u64)]
    pub(super) concurrency: Option<u64>,
    /// How many more may wait for their turn.
    #[shape(min = 1, unset = GatewayLimits::default().waiting as u64)]
    pub(super) waiting: Option<u64>,
    /// How long one may wait, in milliseconds.
    #[shape(min = 1, unset = milliseconds(GatewayLimits::default().queue))]
    pub(super) queue_ms: Option<u64>,
    /// How long a client may take to send a request's head, in milliseconds.
    #[shape(min = 1, unset = milliseconds(GatewayLimits::default().header_reading))]
    pub(super) header_ms: Option<u64>,
    /// How long a client may take for the body, in milliseconds.
    #[shape(min = 1, unset = milliseconds(GatewayLimits::default().body_reading))]
    pub(super) body_ms: Option<u64>,
    /// How long requests are waited for when the gateway ends, in milliseconds.
    #[shape(min = 1, unset = milliseconds(GatewayLimits::default().drain))]
    pub(super) drain_ms: Option<u64>,
    /// The largest reply that is translated to another interface, in bytes.
    #[shape(min = 1, unset = GatewayLimits::default().reply_bytes as u64)]
    pub(super) reply_bytes: Option<u64>,
}

/// How long upstreams may take.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct TimeoutsTable {
    /// Milliseconds to connect to an upstream.
    #[shape(min = 1, unset = milliseconds(GatewayTimeouts::default().connect))]
    pub(super) connect_ms: Option<u64>,
    /// Milliseconds from the start of an attempt to the head of the reply, connecting included.
    #[shape(min = 1, unset = milliseconds(GatewayTimeouts::default().first_byte))]
    pub(super) first_byte_ms: Option<u64>,
    /// Milliseconds between two pieces of a reply.
    #[shape(min = 1, unset = milliseconds(GatewayTimeouts::default().idle))]
    pub(super) idle_ms: Option<u64>,
}

/// How failed requests are repeated.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct RetriesTable {
    /// How often one upstream is asked again.
    #[shape(unset = Retries::default().attempts)]
    pub(super) attempts: Option<u32>,
    /// The bound of the first wait, in milliseconds; it doubles with each further wait, and the wait is drawn below it.
    #[shape(min = 1, unset = milliseconds(Retries::default().backoff))]
    pub(super) backoff_ms: Option<u64>,
    /// The longest wait in milliseconds, also when the upstream asks for more.
    #[shape(min = 1, unset = milliseconds(Retries::default().longest))]
    pub(super) longest_ms: Option<u64>,
    /// How many retries are allowed per hundred requests.
    #[shape(unset = (Retries::default().share * 100.0) as u32)]
    pub(super) share_percent: Option<u32>,
    /// How many retries may be made at once beyond that.
    #[shape(unset = Retries::default().burst)]
    pub(super) burst: Option<u32>,
}

/// When an upstream that fails is left alone.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct BreakerTable {
    /// The number of failures in a row after which an upstream is left alone.
    #[shape(min = 1, unset = BreakerConfig::default().failures)]
    pub(super) failures: Option<u32>,
    /// How long it is left alone at first, in milliseconds; each further failure doubles it.
    #[shape(min = 1, unset = milliseconds(BreakerConfig::default().pause))]
    pub(super) pause_ms: Option<u64>,
    /// How long it is left alone at most, in milliseconds.
    #[shape(min = 1, unset = milliseconds(BreakerConfig::default().longest_pause))]
    pub(super) longest_pause_ms: Option<u64>,
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Addresses with a port.
mod address {
    use std::net::SocketAddr;

    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<SocketAddr> {
        let text = String::read(node, at, reader)?;
        let address = text.parse().ok();
        if address.is_none() {
            let wanted = "an address and a port, such as \"127.0.0.1:8090\"";
            reader.fault(at, node.span(), FaultKind::WrongForm { wanted, found: text });
        }
        address
    }

    pub(super) fn write(address: &SocketAddr) -> Value {
        address.to_string().into()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", "string")])
    }
}
