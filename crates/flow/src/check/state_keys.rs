//! State keys are templates over what is in reach, name the session, and agree on lifetimes.

use std::collections::HashMap;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};
use stave_script::state_key::{self, KeySegment};

use super::subject::{Subject, suggest};
use crate::graph::EdgeSource;
use crate::model::{BUILT_IN_CONTEXT, Node, NodeStateScope, State, Text};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut lifetimes: HashMap<String, (u64, Span)> = HashMap::new();
    for node in subject.nodes() {
        if let Some(key) = node.runtime.cache.as_ref().and_then(|cache| cache.key.as_ref()) {
            template(subject, node, key, diagnostics);
        }
        let Some(state) = node.state.as_ref() else { continue };
        if let Some(key) = &state.key {
            let segments = template(subject, node, key, diagnostics);
            if let (Some(segments), Some(NodeStateScope::Session)) =
                (segments, state.scope.map(|scope| scope.value))
            {
                diagnostics.extend(unscoped(key, &segments));
            }
        }
        let Some(ttl) = &state.ttl_seconds else { continue };
        let Some(record) = record(subject, node, state) else { continue };
        match lifetimes.get(&record) {
            Some((other, span)) if *other != ttl.value => {
                let message = format!("the record lives {} seconds here and {other} there", ttl.value);
                diagnostics.push(
                    Diagnostic::new(codes::CONFLICTING_TTL, ttl.span, message)
                        .label(*span, "the same record")
                        .help("give both the same `ttl_seconds`, or leave it out at one of them"),
                );
            }
            Some(_) => {}
            None => {
                lifetimes.insert(record, (ttl.value, ttl.span));
            }
        }
    }
}

/// The segments of a key whose every path is in reach.
fn template(
    subject: &Subject<'_>,
    node: &Node,
    key: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<KeySegment>> {
    let segments = match state_key::parse(key.as_str()) {
        Ok(segments) => segments,
        Err(errors) => {
            diagnostics.extend(errors.into_iter().map(|error| {
                Diagnostic::new(
                    codes::BAD_STATE_KEY,
                    key.at(error.range),
                    format!("the key is not a template: {}", error.message),
                )
                .help("write `{name}` for a value and `{{` for a brace")
            }));
            return None;
        }
    };
    let before = diagnostics.len();
    for segment in &segments {
        let KeySegment::Path { names, range } = segment else { continue };
        diagnostics.extend(path(subject, node, names, key.at(range.clone())));
    }
    (diagnostics.len() == before).then_some(segments)
}

fn path(subject: &Subject<'_>, node: &Node, names: &[String], span: Span) -> Option<Diagnostic> {
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["node", "id"] | ["flow", "name"] => None,
        ["context", name, ..] => subject.undeclared_context(name, span),
        [name, ..] if node.input(name).is_some() || subject.has_context(name) => None,
        [_, ..] if !node.inputs.is_complete() || !subject.knows_context() => None,
        [name, ..] => {
            let message =
                format!("`{name}` is neither an input of node `{}` nor a context field", node.id.value);
            let mut known: Vec<&str> = node.inputs.iter().map(|port| port.name.as_str()).collect();
            known.extend(subject.flow.context.fields().map(Text::as_str));
            known.extend(["node.id", "flow.name"]);
            let diagnostic = Diagnostic::new(codes::UNKNOWN_ROOT, span, message);
            let mut diagnostic =
                suggest(diagnostic, name, span, &known, |listed| format!("use one of {listed}"));
            // The place covers the braces, so replacing it by a name would be wrong.
            diagnostic.fix = None;
            Some(diagnostic)
        }
        [] => None,
    }
}

fn unscoped(key: &Text, segments: &[KeySegment]) -> Option<Diagnostic> {
    let names_someone = segments.iter().any(|segment| match segment {
        KeySegment::Path { names, .. } => {
            names.last().is_some_and(|name| name.ends_with("session_id") || name.ends_with("user_id"))
        }
        KeySegment::Literal(_) => false,
    });
    if names_someone {
        return None;
    }
    let message = format!("the session state key `{}` names no session and no user", key.as_str());
    Some(
        Diagnostic::new(codes::UNSCOPED_STATE_KEY, key.span, message)
            .help(format!("write `{}_{{session_id}}`", key.as_str())),
    )
}

/// What a node's state record is called, in a form in which equal names are equal records: an input
/// that carries a request field unchanged is that field.
pub(super) fn record(subject: &Subject<'_>, node: &Node, state: &State) -> Option<String> {
    let scope = match state.scope?.value {
        NodeStateScope::Request => "request",
        NodeStateScope::Session => "session",
    };
    let mut record = format!("{scope}:");
    for segment in state_key::parse(state.key_template()).ok()? {
        match segment {
            KeySegment::Literal(text) => record.push_str(&text.replace('{', "{{")),
            KeySegment::Path { names, .. } => {
                record.push_str(&format!("{{{}}}", resolved(subject, node, &names)));
            }
        }
    }
    Some(record)
}

fn resolved(subject: &Subject<'_>, node: &Node, names: &[String]) -> String {
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some((first, rest)) = words.split_first() else { return String::new() };
    let id = node.id.as_str();
    let root = match *first {
        "node" => return format!("node:{id}"),
        "flow" | "context" => return words.join("."),
        name if node.input(name).is_some() => match request_field(subject, id, name) {
            Some(field) => format!("context.{field}"),
            None => format!("input:{id}.{name}"),
        },
        name if subject.flow.context.declares(name) || BUILT_IN_CONTEXT.contains(&name) => {
            format!("context.{name}")
        }
        name => name.to_owned(),
    };
    std::iter::once(root.as_str()).chain(rest.iter().copied()).collect::<Vec<_>>().join(".")
}

/// The request field that an input always carries.
fn request_field<'flow>(subject: &Subject<'flow>, id: &str, name: &str) -> Option<&'flow str> {
    let mut fields = subject.arrivals(id, name);
    let (first, second) = (fields.next()?, fields.next());
    match (first.origin, second) {
        (EdgeSource::Request(field), None) if first.edge.transform.is_absent() => Some(field),
        _ => None,
    }
}

/// What the name of a node's state record can be.
#[derive(Debug)]
pub(super) struct RecordPattern {
    scope: NodeStateScope,
    /// The text before the first value that only a run knows, and the text behind the last one; the whole name
    /// when there is no such value.
    begins: String,
    ends: Option<String>,
}

impl RecordPattern {
    /// `None` when the record has no readable name.
    pub(super) fn of(subject: &Subject<'_>, node: &Node) -> Option<RecordPattern> {
        let state = node.state.as_ref()?;
        let scope = state.scope?.value;
        let (mut begins, mut ends) = (String::new(), None::<String>);
        for segment in state_key::parse(state.key_template()).ok()? {
            let known = match &segment {
                KeySegment::Literal(text) => Some(text.as_str()),
                KeySegment::Path { names, .. } => {
                    match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                        ["node", "id"] => Some(node.id.as_str()),
                        ["flow", "name"] => subject.flow.metadata.name.as_ref().map(Text::as_str),
                        _ => None,
                    }
                }
            };
            match (known, &mut ends) {
                (Some(text), None) => begins.push_str(text),
                (Some(text), Some(ends)) => ends.push_str(text),
                (None, _) => ends = Some(String::new()),
            }
        }
        Some(RecordPattern { scope, begins, ends })
    }

    /// Whether a run can give both records the same name: two values that are told apart here, say two fields of
    /// a request, may be equal there.
    pub(super) fn may_be(&self, other: &RecordPattern) -> bool {
        if self.scope != other.scope {
            return false;
        }
        let prefixes = |one: &str, other: &str| one.starts_with(other) || other.starts_with(one);
        let suffixes = |one: &str, other: &str| one.ends_with(other) || other.ends_with(one);
        let fits = |whole: &str, begins: &str, ends: &str| {
            whole.len() >= begins.len() + ends.len() && whole.starts_with(begins) && whole.ends_with(ends)
        };
        match (&self.ends, &other.ends) {
            (None, None) => self.begins == other.begins,
            (Some(ends), None) => fits(&other.begins, &self.begins, ends),
            (None, Some(ends)) => fits(&self.begins, &other.begins, ends),
            (Some(ends), Some(other_ends)) => {
                prefixes(&self.begins, &other.begins) && suffixes(ends, other_ends)
            }
        }
    }
}
