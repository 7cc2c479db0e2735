//! The labels of a run's values, and who may be given them.
//!
//! Levels come from the flow: the checker found them, and lowering baked them into the document's policy under
//! `sensitivity`. What a text reads is answered by `stave_script::reads`, as it is for the checker. A receiver that the
//! project does not name takes private data at most.
//!
//! Invariant: every step that sends its arguments to a host, a tool, a plant or a store asks [`admit`] first, with
//! the receiver that the run decided on. A level that is not understood stops the step.

use stave_block::SensitivityLabel;
use stave_canon::Value;
use stave_diag::codes::flow::SENSITIVE_DATA_LEAK;
use stave_diag::codes::run as codes;
use stave_script::{Read, reads};

use crate::run::Call;
use crate::{Failure, failure::Kind};

/// Someone outside the run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Receiver<'r> {
    /// A host, by its name in an address; none when the address has no host.
    Host(Option<&'r str>),
    Tool {
        server: &'r str,
        tool: &'r str,
    },
    /// The project's feature store.
    Features,
}

/// Refuses the step when its arguments are more sensitive than the receiver takes.
pub(crate) fn admit(call: &Call<'_>, receiver: Receiver<'_>) -> Result<(), Failure> {
    let label = of_texts(call, call.with.values())?;
    if label == SensitivityLabel::Public {
        return Ok(());
    }
    let tool;
    let (name, takes) = match receiver {
        Receiver::Host(host) => {
            let name =
                host.map_or_else(|| "a host without a name".to_owned(), |host| format!("host `{host}`"));
            (name, accepted(call, "hosts", host.unwrap_or_default())?)
        }
        Receiver::Tool { server, tool: name } => {
            tool = format!("{server}/{name}");
            (format!("the tool `{tool}`"), accepted(call, "tools", &tool)?)
        }
        Receiver::Features => ("the feature store".to_owned(), accepted(call, "stores", "features")?),
    };
    let takes = takes.unwrap_or(SensitivityLabel::Private);
    if label <= takes {
        return Ok(());
    }
    let message = format!("{label} data may not go to {name}, which takes {takes} data at most");
    Err(Failure::new(SENSITIVE_DATA_LEAK, Kind::Refused, message))
}

/// What the project says about a receiver.
pub(crate) fn accepted(
    call: &Call<'_>,
    table: &str,
    name: &str,
) -> Result<Option<SensitivityLabel>, Failure> {
    let level = rules(call).and_then(|rules| rules.get("accepts")?.get(table)?.get(name));
    level.map(read).transpose()
}

/// The most sensitive of what the `${…}` in these values read.
pub(crate) fn of_texts<'v>(
    call: &Call<'_>,
    values: impl IntoIterator<Item = &'v Value>,
) -> Result<SensitivityLabel, Failure> {
    if rules(call).is_none() {
        return Ok(SensitivityLabel::Public);
    }
    let mut most = SensitivityLabel::Public;
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
pub(crate) fn of_read(call: &Call<'_>, wanted: &Read) -> Result<SensitivityLabel, Failure> {
    let Some(rules) = rules(call) else { return Ok(SensitivityLabel::Public) };
    let node = call.node.id.as_str();
    let context = || rules.get("context");
    let inputs = || rules.get("inputs").and_then(|inputs| inputs.get(node));
    match wanted {
        Read::Context(field) => context().and_then(|context| context.get(field)).map_or(PUBLIC, read),
        Read::EveryContextField => most(context()),
        Read::Input(name) => inputs().and_then(|inputs| inputs.get(name)).map_or(PUBLIC, read),
        Read::EveryInput => most(inputs()),
        Read::Reply => rules.get("replies").and_then(|replies| replies.get(node)).map_or(PUBLIC, read),
    }
}

const PUBLIC: Result<SensitivityLabel, Failure> = Ok(SensitivityLabel::Public);

/// The most sensitive of a table.
fn most(table: Option<&Value>) -> Result<SensitivityLabel, Failure> {
    let levels = table.and_then(Value::as_object).into_iter().flatten().map(|(_, level)| read(level));
    levels.into_iter().try_fold(SensitivityLabel::Public, |most, level| level.map(|level| most.join(level)))
}

/// The part of the baked policy that is about labels.
pub(crate) fn rules<'c>(call: &'c Call<'_>) -> Option<&'c Value> {
    call.run.plan.document.constants.policy.get("sensitivity")
}

/// A word that is not understood could be one that closes content off.
pub(crate) fn read(level: &Value) -> Result<SensitivityLabel, Failure> {
    let level = level.as_str().and_then(SensitivityLabel::from_word);
    level.ok_or_else(|| bad("a sensitivity is not `public`, `private` or `restricted`"))
}

pub(crate) fn bad(reason: &str) -> Failure {
    let message = format!("the baked policy's `sensitivity`: {reason}");
    Failure::new(codes::BAD_DOCUMENT, Kind::Configuration, message)
}
