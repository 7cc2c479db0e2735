//! The labels of a run's values, and who may be given them.
//!
//! Levels come from the flow: the checker found them, and lowering baked them into the document's policy under
//! `sensitivity`. What a text reads is answered by `stave_script::reads`, as it is for the checker. A receiver that the
//! project does not name takes private data at most.
//!
//! Invariants: every step that sends its arguments to a host, a tool, a plant or a store asks [`admit`] first, with
//! the receiver that the run decided on. State records carry their label, which a read compares with what the flow is
//! checked for. A level that is not understood stops the step.

use stave_block::Sensitivity;
use stave_canon::Value;
use stave_diag::codes::flow::SENSITIVE_DATA_LEAK;
use stave_diag::codes::run as codes;
use stave_exec::Document;
use stave_script::address::HostPort;
use stave_script::{Read, reads};

use crate::plan::PlannedNode;
use crate::run::{Call, Run};
use crate::state::StateBuffer;
use crate::{Failure, failure::FailureKind};

/// Someone outside the run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Receiver<'r> {
    /// The host of an address; none when the address has no host.
    Host(Option<&'r HostPort>),
    Tool {
        server: &'r str,
        tool: &'r str,
    },
    /// The project's feature store.
    Features,
}

/// Refuses the step when its arguments are more sensitive than the receiver takes.
pub(crate) fn admit(call: &Call<'_>, receiver: Receiver<'_>) -> Result<(), Failure> {
    let mut label = of_texts(call, call.with.values())?;
    if call.run.plan.graph.reads_references() {
        // The arguments of a workflow's step are its inputs, and references to other steps are no placeholders.
        label = label.join(of_read(call, &Read::EveryInput)?);
    }
    if label == Sensitivity::Public {
        return Ok(());
    }
    let tool;
    let (name, takes) = match receiver {
        Receiver::Host(host) => {
            let name = host
                .map_or_else(|| "a host without a name".to_owned(), |host| format!("host `{}`", host.name()));
            (name, host.map(|host| accepted_host(call, host)).transpose()?.flatten())
        }
        Receiver::Tool { server, tool: name } => {
            tool = format!("{server}/{name}");
            (format!("the tool `{tool}`"), accepted(call, "tools", &tool)?)
        }
        Receiver::Features => ("the feature store".to_owned(), accepted(call, "stores", "features")?),
    };
    let takes = takes.unwrap_or(Sensitivity::Private);
    if label <= takes {
        return Ok(());
    }
    Err(refusal(format!("{label} data cannot be sent to {name}, which takes {takes} data at most")))
}

fn refusal(message: String) -> Failure {
    Failure::new(SENSITIVE_DATA_LEAK, FailureKind::Refused, message)
}

/// What the project says about a receiver.
pub(crate) fn accepted(call: &Call<'_>, table: &str, name: &str) -> Result<Option<Sensitivity>, Failure> {
    accepted_by(&call.run.plan.document, table, name)
}

/// What the project says about a host; an entry with its port decides before one without.
pub(crate) fn accepted_host(call: &Call<'_>, host: &HostPort) -> Result<Option<Sensitivity>, Failure> {
    for entry in host.entries() {
        if let Some(level) = accepted(call, "hosts", &entry)? {
            return Ok(Some(level));
        }
    }
    Ok(None)
}

fn accepted_by(document: &Document, table: &str, name: &str) -> Result<Option<Sensitivity>, Failure> {
    let level = rules_of(document).and_then(|rules| rules.get("accepts")?.get(table)?.get(name));
    level.map(read).transpose()
}

/// The label of a node or a field in one of the document's tables.
fn of_node(document: &Document, table: &str, name: &str) -> Result<Sensitivity, Failure> {
    rules_of(document).and_then(|rules| rules.get(table)?.get(name)).map_or(PUBLIC, read)
}

/// The label that the project gives a field, whatever flow it belongs to.
pub(crate) fn of_field(call: &Call<'_>, field: &str) -> Result<Sensitivity, Failure> {
    of_node(&call.run.plan.document, "fields", field)
}

/// What the state record of a node may hold. A record is written with this label, and a step that finds a higher one
/// in the store is refused: an earlier version of the flow kept more there than this one is checked for.
pub(crate) fn of_state(document: &Document, node: &str) -> Result<Sensitivity, Failure> {
    of_node(document, "state", node)
}

/// Refuses a step that asked for a record beyond what its flow is checked for, whatever it made of the answer, and one
/// that wrote more than the record's store takes.
pub(crate) fn hold_state(run: &Run<'_>, node: &PlannedNode, state: &StateBuffer<'_>) -> Result<(), Failure> {
    let document = &run.plan.document;
    let label = of_state(document, &node.id)?;
    if let Some(holds) = state.beyond_check() {
        return Err(beyond_check(holds, label));
    }
    if !state.has_writes() {
        return Ok(());
    }
    let is_server = run.services.state.is_server(state.key());
    admit_state(document, label, state.key().backend(), is_server)
}

/// Refuses to write a record that is more sensitive than its store takes. A store that is no server is beside the
/// journal, which holds every value already.
fn admit_state(
    document: &Document,
    label: Sensitivity,
    backend: Option<&str>,
    is_server: bool,
) -> Result<(), Failure> {
    let own = || accepted_by(document, "stores", STATE);
    let named = backend.map(|name| accepted_by(document, "stores", name)).transpose()?.flatten();
    let unnamed = if is_server { Sensitivity::Private } else { Sensitivity::Restricted };
    let takes = match named {
        Some(named) => named,
        None => own()?.unwrap_or(unnamed),
    };
    if label <= takes {
        return Ok(());
    }
    let store =
        backend.map_or_else(|| "the state store".to_owned(), |name| format!("the state store `{name}`"));
    Err(refusal(format!("{label} data cannot be sent to {store}, which takes {takes} data at most")))
}

/// Refuses to read a record that holds more than the flow is checked for.
fn beyond_check(holds: Sensitivity, label: Sensitivity) -> Failure {
    let message = format!(
        "the state record holds {holds} data, and this flow is checked for {label} data there; label the state \
         `{holds}`, or delete the record"
    );
    refusal(message)
}

/// Whether results of a node may be kept for later runs.
pub(crate) fn may_cache(document: &Document, node: &str) -> Result<bool, Failure> {
    let takes = accepted_by(document, "stores", "cache")?.unwrap_or(Sensitivity::Restricted);
    Ok(of_node(document, "outputs", node)? <= takes)
}

/// What a cached result was made of, for its key: a result of restricted data is no result for a flow that takes the
/// same node's inputs for public ones.
pub(crate) fn of_reads(document: &Document, node: &str) -> Result<Sensitivity, Failure> {
    of_node(document, "reads", node)
}

/// Whether traces must not have what people, models, tools and failures of a node said. A level that is not
/// understood hides it. A node that runs inside another one is named by its path.
pub(crate) fn is_hidden_from_traces(document: &Document, node: &str) -> bool {
    node.split('/').any(|node| exceeds_traces(document, of_node(document, "reads", node)))
}

/// The same about a failure that belongs to no node.
pub(crate) fn is_any_field_hidden_from_traces(document: &Document) -> bool {
    exceeds_traces(document, most(rules_of(document).and_then(|rules| rules.get("context"))))
}

fn exceeds_traces(document: &Document, label: Result<Sensitivity, Failure>) -> bool {
    let takes = accepted_by(document, "stores", "telemetry");
    match (label, takes) {
        (Ok(label), Ok(takes)) => label > takes.unwrap_or(Sensitivity::Private),
        _ => true,
    }
}

/// The project's own state store, among the stores.
const STATE: &str = "state";

/// The most sensitive of what the `${…}` in these values read.
pub(crate) fn of_texts<'v>(
    call: &Call<'_>,
    values: impl IntoIterator<Item = &'v Value>,
) -> Result<Sensitivity, Failure> {
    if rules(call).is_none() {
        return Ok(Sensitivity::Public);
    }
    let mut most = Sensitivity::Public;
    let mut open: Vec<&Value> = values.into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                for (read, _) in reads::of_text(text) {
                    most = most.join(of_read(call, &read)?);
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(object) => open.extend(object.values()),
            _ => {}
        }
    }
    Ok(most)
}

/// The label of something that the step's node reads.
pub(crate) fn of_read(call: &Call<'_>, wanted: &Read) -> Result<Sensitivity, Failure> {
    let Some(rules) = rules(call) else { return Ok(Sensitivity::Public) };
    let node = call.node.id.as_str();
    let context = || rules.get("context");
    let inputs = || rules.get("inputs").and_then(|inputs| inputs.get(node));
    match wanted {
        Read::Context(field) => context().and_then(|context| context.get(field)).map_or(PUBLIC, read),
        Read::EveryContextField => most(context()),
        // What a workflow's texts name is not a port.
        Read::Input(_) if call.run.plan.graph.reads_references() => most(inputs()),
        Read::Input(name) => inputs().and_then(|inputs| inputs.get(name)).map_or(PUBLIC, read),
        Read::EveryInput => most(inputs()),
        Read::Reply => rules.get("replies").and_then(|replies| replies.get(node)).map_or(PUBLIC, read),
    }
}

const PUBLIC: Result<Sensitivity, Failure> = Ok(Sensitivity::Public);

/// The most sensitive of a table.
fn most(table: Option<&Value>) -> Result<Sensitivity, Failure> {
    let levels = table.and_then(Value::as_object).into_iter().flatten().map(|(_, level)| read(level));
    levels.into_iter().try_fold(Sensitivity::Public, |most, level| level.map(|level| most.join(level)))
}

/// The part of the baked policy that is about labels.
pub(crate) fn rules<'c>(call: &'c Call<'_>) -> Option<&'c Value> {
    rules_of(&call.run.plan.document)
}

fn rules_of(document: &Document) -> Option<&Value> {
    document.constants.policy.get("sensitivity")
}

/// A word that is not understood could be one that closes content off.
pub(crate) fn read(level: &Value) -> Result<Sensitivity, Failure> {
    let level = level.as_str().and_then(Sensitivity::from_word);
    level.ok_or_else(|| bad("a sensitivity is not `public`, `private` or `restricted`"))
}

pub(crate) fn bad(reason: &str) -> Failure {
    let message = format!("the baked policy's `sensitivity`: {reason}");
    Failure::new(codes::BAD_DOCUMENT, FailureKind::Configuration, message)
}
