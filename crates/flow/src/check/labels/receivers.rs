//! Everyone who is given data, and whether they may have it.

use stave_diag::{Diagnostic, Span};
use stave_operations::Receiver as Kind;
use stave_script::Read;
use stave_script::address::{HostPort, written_host};

use super::path::Label;
use super::reads;
use super::scopes::{FEATURES, STATE};
use super::sensitive_data_leak;
use super::travel::Labels;
use crate::check::subject::{Subject, tools};
use crate::model::{Backend, Model, Node, NodeStateScope, Prompt, Sensitivity, Text};
use crate::yaml::Tree;

pub(super) fn check(subject: &Subject<'_>, labels: &Labels<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        if let Some(prompt) = node.prompt.as_ref() {
            models(subject, labels, node, prompt, diagnostics);
            outside_tools(subject, labels, node, diagnostics);
        }
        outside(subject, labels, node, diagnostics);
        state(subject, labels, node, diagnostics);
        cache(subject, labels, node, diagnostics);
    }
    ports(subject, labels, diagnostics);
}

/// One receiver of data.
struct Receiver {
    name: String,
    takes: Sensitivity,
    help: String,
}

fn models(
    subject: &Subject<'_>,
    labels: &Labels<'_>,
    node: &Node,
    prompt: &Prompt,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let fallback = prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
    let mut receivers = vec![receiver(subject, prompt.model.as_ref())];
    receivers.extend(fallback.map(|model| receiver(subject, Some(model))));
    // One that takes less says all there is to say about one that takes more.
    receivers.sort_by_key(|receiver| receiver.takes);
    let Some(strictest) = receivers.first() else { return };
    let mut told: Vec<Read> = Vec::new();
    for (read, span) in reads::of_prompt(subject, node) {
        if told.contains(&read) {
            continue;
        }
        let found = labels.read(node, &read).and_then(|label| judge(&label, strictest, span));
        if found.is_some() {
            told.push(read);
        }
        diagnostics.extend(found);
    }
    for target in tools(node).filter_map(|tool| tool.maps_to.as_ref()) {
        let label = labels.told(subject, target);
        diagnostics.extend(label.and_then(|label| judge(&label, strictest, target.span)));
    }
}

fn receiver(subject: &Subject<'_>, model: Option<&Model>) -> Receiver {
    let scopes = &subject.options.scopes;
    let (provider, endpoint) = match model {
        Some(model) => {
            let text = |text: &Option<Text>| text.as_ref().map(|text| text.as_str().to_owned());
            (text(&model.provider).unwrap_or_default(), text(&model.endpoint))
        }
        None => scopes.default_model.clone().unwrap_or_default(),
    };
    let takes = scopes.model(&provider, endpoint.as_deref());
    let host = endpoint.as_deref().and_then(written_host);
    let name = match (provider.as_str(), host.as_ref().map(HostPort::name)) {
        ("", _) => "the project's default model".to_owned(),
        (_, Some(host)) => format!("the model at `{host}`"),
        (provider, None) => format!("a model of `{provider}`"),
    };
    let table = match host.as_ref().map(HostPort::name) {
        Some(host) => format!("`\"{host}\" = …` under `[accepts.hosts]`"),
        None if provider.is_empty() => "its provider under `[accepts.providers]`".to_owned(),
        None => format!("`{provider} = …` under `[accepts.providers]`"),
    };
    let help =
        format!("leave it out of the prompt, ask a model that may see it, or write {table} in stave.toml");
    Receiver { name, takes, help }
}

/// A tool that answers outside the flow is given what the model saw.
fn outside_tools(subject: &Subject<'_>, labels: &Labels<'_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let Some(label) = labels.asked.get(node.id.as_str()) else { return };
    for mcp in tools(node).filter_map(|tool| tool.mcp.as_ref()) {
        let receiver = tool_receiver(subject, mcp.as_str());
        diagnostics.extend(judge(label, &receiver, mcp.span));
    }
}

/// The receivers of an operation's arguments.
fn outside(subject: &Subject<'_>, labels: &Labels<'_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let Some((op, args)) = reads::operation(node) else { return };
    let Some(receiver) = receiver_of(subject, op, args) else { return };
    let mut told: Vec<Read> = Vec::new();
    for (read, span) in reads::of_arguments(args) {
        if told.contains(&read) {
            continue;
        }
        let found = labels.read(node, &read).and_then(|label| judge(&label, &receiver, span));
        if found.is_some() {
            told.push(read);
        }
        diagnostics.extend(found);
    }
}

/// The receiver of an operation's arguments; none when the operation works inside the flow.
fn receiver_of(subject: &Subject<'_>, op: &str, args: &Tree) -> Option<Receiver> {
    let scopes = &subject.options.scopes;
    let text = |name: &str| args.get(name).and_then(Tree::text).map(Text::as_str);
    let host = |key: &str| {
        let host = text(key).and_then(written_host);
        let (name, help) = match host.as_ref().map(HostPort::name) {
            Some(host) => (
                format!("the host `{host}`"),
                format!(
                    "leave it out of the request, or write `\"{host}\" = …` under `[accepts.hosts]` in stave.toml"
                ),
            ),
            None => (
                "a host that only the run decides".to_owned(),
                "write the host out, so that its scope is known".to_owned(),
            ),
        };
        Receiver { name, takes: scopes.host(host.as_ref()), help }
    };
    Some(match stave_operations::operation(op)?.receiver {
        Kind::Host { address } => host(address),
        Kind::Tool { server, tool } => {
            let written = |name: &str| text(name).filter(|text| !text.contains("${"));
            match (written(server), written(tool)) {
                (Some(server), Some(tool)) => tool_receiver(subject, &format!("{server}/{tool}")),
                _ => Receiver {
                    name: "a tool that only the run decides".to_owned(),
                    takes: scopes.tool(""),
                    help: "write the server and the tool out, so that their scope is known".to_owned(),
                },
            }
        }
        Kind::FeatureStore { .. } => Receiver {
            name: "the feature store".to_owned(),
            takes: scopes.store(FEATURES),
            help: "leave it out of the arguments, or write `features = …` under `[accepts.stores]` in stave.toml"
                .to_owned(),
        },
        Kind::Nobody | Kind::Model => return None,
    })
}

fn tool_receiver(subject: &Subject<'_>, name: &str) -> Receiver {
    Receiver {
        name: format!("the tool `{name}`"),
        takes: subject.options.scopes.tool(name),
        help: format!("remove the tool, or write `\"{name}\" = …` under `[accepts.tools]` in stave.toml"),
    }
}

/// A record that is said to hold less is not written with more, and neither is a store that takes less. The key of a
/// record is kept with it.
fn state(subject: &Subject<'_>, labels: &Labels<'_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let Some(state) = node.state.as_ref() else { return };
    let id = node.id.as_str();
    let written = labels.written.get(id);
    if let (Some(sensitivity), Some(label)) = (state.sensitivity, written) {
        let receiver = Receiver {
            name: format!("the state of node `{id}`"),
            takes: sensitivity.value,
            help: format!("label the state `{}`, or keep less in it", label.level.word()),
        };
        diagnostics.extend(judge(label, &receiver, sensitivity.span));
    }
    let is_session = state.scope.is_some_and(|scope| scope.value == NodeStateScope::Session);
    let backend = match state.backend() {
        Backend::Redis if is_session => Some("redis"),
        Backend::Hopsworks if is_session => Some("hopsworks"),
        _ => None,
    };
    let name = backend.unwrap_or(STATE);
    let receiver = Receiver {
        name: backend
            .map_or_else(|| "the state store".to_owned(), |name| format!("the state store `{name}`")),
        takes: subject.options.scopes.state(backend),
        help: format!("keep less in the state, or write `{name} = …` under `[accepts.stores]` in stave.toml"),
    };
    let key = super::path::join_all(reads::of_key(node, state).iter().map(|read| labels.read(node, read)));
    let label = super::path::join(written.cloned(), key);
    diagnostics.extend(label.and_then(|label| judge(&label, &receiver, state.key_span)));
}

/// Results that are kept for later runs.
fn cache(subject: &Subject<'_>, labels: &Labels<'_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let Some(cache) = &node.runtime.cache else { return };
    let receiver = Receiver {
        name: "the cache of results".to_owned(),
        takes: subject.options.scopes.cache(),
        help: "remove `cache`, or write `cache = …` under `[accepts.stores]` in stave.toml".to_owned(),
    };
    let outputs = node.outputs.iter().map(|port| (node.id.as_str(), port.name.as_str()));
    let label = super::path::join_all(outputs.map(|port| labels.outputs.get(&port).cloned()));
    diagnostics.extend(label.and_then(|label| judge(&label, &receiver, cache.key_span)));
}

/// An input that says what it accepts gets nothing more sensitive.
fn ports(subject: &Subject<'_>, labels: &Labels<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        for port in &node.inputs {
            let Some(accepts) = port.accepts else { continue };
            let name = port.name.as_str();
            let Some(label) = labels.inputs.get(&(node.id.as_str(), name)) else { continue };
            let receiver = Receiver {
                name: format!("the input `{}.{name}`", node.id.value),
                takes: accepts.value,
                help: "connect something less sensitive, or raise `accepts`".to_owned(),
            };
            diagnostics.extend(judge(label, &receiver, accepts.span));
        }
    }
}

fn judge(label: &Label, receiver: &Receiver, span: Span) -> Option<Diagnostic> {
    (label.level > receiver.takes).then(|| {
        sensitive_data_leak::report(label, span, &receiver.name, receiver.takes, receiver.help.clone())
    })
}
