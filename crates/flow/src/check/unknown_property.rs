//! Paths into a value follow what its schema says, in templates, placeholders and expressions.

use std::collections::HashMap;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span, did_you_mean};
use stave_script::interpolation::{self, PathStep};

use super::placeholders::step_span;
use super::subject::{Subject, listed};
use crate::graph::{Connected, EdgeSource};
use crate::model::{Node, Port, Readable, Text, Transform};
use crate::yaml::{Tree, TreeValue};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let schemas = Schemas::new(subject);
    if schemas.is_empty {
        return;
    }
    for node in subject.nodes() {
        templates(subject, &schemas, node, diagnostics);
        placeholders(&schemas, node, diagnostics);
    }
    for connected in &subject.edges {
        expressions(subject, connected, diagnostics);
    }
}

/// The schemas of inputs: their own, or that of the only port that feeds them.
struct Schemas<'flow> {
    fed: HashMap<(&'flow str, &'flow str), Option<&'flow Tree>>,
    /// Whether no port of the flow has a schema that says anything about properties.
    is_empty: bool,
}

impl<'flow> Schemas<'flow> {
    fn new(subject: &Subject<'flow>) -> Self {
        let mut fed: HashMap<(&str, &str), Option<&Tree>> = HashMap::new();
        let ports = |node: &'flow Node| node.inputs.iter().chain(&node.outputs).chain(&node.error);
        let is_empty = !subject.nodes().flat_map(ports).any(|port| port.schema.is_some());
        for connected in subject.edges.iter().filter(|_| !is_empty) {
            let (Some(node), Some(port)) = (connected.destination.node(), connected.destination.port())
            else {
                continue;
            };
            // The report of a failure has more fields than its schema has to name.
            let schema = match (connected.origin, &connected.edge.transform) {
                (EdgeSource::Output(_, port), Readable::Absent) => port.schema.as_ref(),
                _ => None,
            };
            // With several feeders it is not known whose value comes.
            fed.entry((node.id.as_str(), port.name.as_str()))
                .and_modify(|known| *known = None)
                .or_insert(schema);
        }
        Schemas { fed, is_empty }
    }

    fn of(&self, node: &'flow Node, name: &str) -> Option<&'flow Tree> {
        let port: &Port = node.input(name)?;
        port.schema.as_ref().or_else(|| self.fed.get(&(node.id.as_str(), name)).copied().flatten())
    }
}

fn templates(subject: &Subject<'_>, schemas: &Schemas<'_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    for used in subject.templates(node).iter().flat_map(|(_, found)| &found.paths) {
        let Some((root, steps)) = used.path.split_first().filter(|(_, steps)| !steps.is_empty()) else {
            continue;
        };
        if let Some(schema) = schemas.of(node, root) {
            let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
            diagnostics.extend(unknown(schema, root, &steps, used.span));
        }
    }
}

fn placeholders(schemas: &Schemas<'_>, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let operation = node.transform.as_ref().and_then(Transform::operation);
    let Some(args) = operation.and_then(|operation| operation.args.as_ref()) else { return };
    args.each_text(&mut |text: &Text| {
        let Ok(parsed) = interpolation::parse(text.as_str()) else { return };
        for path in parsed.placeholders().map(|placeholder| &placeholder.path) {
            let Some(schema) = schemas.of(node, &path.root) else { continue };
            let keys = path.steps.iter().map_while(|(step, _)| match step {
                PathStep::Key(key) => Some(key.as_str()),
                PathStep::Index(_) => None,
            });
            let keys: Vec<&str> = keys.collect();
            let span = path.steps.get(keys.len().saturating_sub(1)).map(|(_, range)| step_span(text, range));
            diagnostics.extend(span.and_then(|span| unknown(schema, &path.root, &keys, span)));
        }
    });
}

fn expressions(subject: &Subject<'_>, connected: &Connected<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let EdgeSource::Output(_, port) = connected.origin else { return };
    let Some(schema) = &port.schema else { return };
    let Some(found) = subject.expressions.get(&connected.edge.index) else { return };
    for used in found.each().flat_map(|found| &found.paths) {
        let Some((root, steps)) = used.path.split_first() else { continue };
        if root == "value" || root == port.name.as_str() {
            let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
            diagnostics.extend(unknown(schema, root, &steps, used.span));
        }
    }
}

/// A report of the first step that the schema does not know.
fn unknown(schema: &Tree, root: &str, steps: &[&str], span: Span) -> Option<Diagnostic> {
    let mut here = schema;
    let mut path = root.to_owned();
    for step in steps {
        let properties = described(here)?;
        match properties.get(step) {
            Some(next) => here = next,
            None => {
                let known: Vec<&str> = properties.entries()?.iter().map(|entry| entry.key.as_str()).collect();
                let message = format!("the schema of `{path}` names no `{step}`");
                let help = match did_you_mean(step, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it names {}; add `{step}` to it", listed(known)),
                };
                let diagnostic = Diagnostic::new(codes::UNKNOWN_PROPERTY, span, message).help(help);
                return Some(diagnostic.label(properties.span, "the properties"));
            }
        }
        path = format!("{path}.{step}");
    }
    None
}

/// The properties of a schema that lists all it is about. One that is composed of others, or that says what
/// further keys are like, may have more.
fn described(schema: &Tree) -> Option<&Tree> {
    const OPEN: [&str; 8] =
        ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "not", "dependencies"];
    let further = schema.get("additionalProperties").map(|further| &further.value);
    if OPEN.iter().any(|word| schema.get(word).is_some())
        || further.is_some_and(|further| !matches!(further, TreeValue::Bool(false)))
    {
        return None;
    }
    schema.get("properties").filter(|properties| properties.entries().is_some_and(|all| !all.is_empty()))
}
