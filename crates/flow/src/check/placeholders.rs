//! `${…}` in arguments, endpoints and references: a path that begins with something in reach, and secrets only
//! where they cannot leak.

use std::ops::Range;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};
use stave_operations::{ArgumentKind, SecretUse};
use stave_script::interpolation::{self, PathStep, Placeholder};

use super::subject::{Subject, suggest};
use crate::model::{Node, PortType, Text, Transform};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        if let Some(operation) = node.transform.as_ref().and_then(Transform::operation)
            && let Some(args) = &operation.args
        {
            let schema = operation.op.as_ref().and_then(|op| stave_operations::operation(op.as_str()));
            for entry in args.entries().unwrap_or_default() {
                let argument = schema.and_then(|schema| schema.argument(entry.key.as_str()));
                if argument.is_some_and(|argument| matches!(argument.kind, ArgumentKind::Expression(_))) {
                    continue;
                }
                // What an unknown operation or argument does with a secret is not known either.
                let secrets = argument.is_none_or(|argument| argument.secrets == SecretUse::Allowed);
                let mut texts = Vec::new();
                entry.value.each_text(&mut |text| texts.push(text));
                for text in texts {
                    Place { subject, node, ports: true, secrets, reply: true }.text(text, diagnostics);
                }
            }
        }
        let prompt = node.prompt.iter();
        let models = prompt.flat_map(|prompt| {
            prompt.model.iter().chain(prompt.fallback.iter().filter_map(|fallback| fallback.model.as_ref()))
        });
        for endpoint in models.filter_map(|model| model.endpoint.as_ref()) {
            Place { subject, node, ports: false, secrets: true, reply: false }.text(endpoint, diagnostics);
        }
        for reference in node.prompt.iter().flat_map(|prompt| prompt.context_refs.iter()) {
            let place = Place { subject, node, ports: true, secrets: false, reply: false };
            place.text(reference, diagnostics);
            diagnostics.extend(place.input_reference(reference));
        }
    }
}

/// The place of a step without the dot ahead of it.
pub(super) fn step_span(text: &Text, range: &Range<usize>) -> Span {
    let dot = usize::from(text.as_str().get(range.clone()).is_some_and(|step| step.starts_with('.')));
    text.at(range.start + dot..range.end)
}

/// The place of a text with placeholders.
struct Place<'check, 'flow> {
    subject: &'check Subject<'flow>,
    node: &'flow Node,
    /// Whether the node's inputs can be read there.
    ports: bool,
    secrets: bool,
    /// Whether the model has answered by then.
    reply: bool,
}

impl Place<'_, '_> {
    fn text(&self, text: &Text, diagnostics: &mut Vec<Diagnostic>) {
        let parsed = match interpolation::parse(text.as_str()) {
            Ok(parsed) => parsed,
            Err(errors) => {
                diagnostics.extend(errors.into_iter().map(|error| {
                    let message = format!("the placeholder is not a path: {}", error.message);
                    Diagnostic::new(codes::BAD_PLACEHOLDER, text.at(error.range), message)
                        .help("write `${name.field}`, `${name[0]}` or `${name[\"any key\"]}`; `$${` is a literal `${`")
                }));
                return;
            }
        };
        let sole = parsed.sole().is_some();
        for placeholder in parsed.placeholders() {
            diagnostics.extend(self.placeholder(text, placeholder, sole));
        }
    }

    /// A `memory:` reference that is written out names an input of the node.
    fn input_reference(&self, text: &Text) -> Option<Diagnostic> {
        let name = text.as_str().strip_prefix("memory:").filter(|name| !name.contains("${"))?;
        if self.node.input(name).is_some() || !self.node.inputs.is_complete() {
            return None;
        }
        let known: Vec<&str> = self.node.inputs.iter().map(|port| port.name.as_str()).collect();
        let message = format!("node `{}` has no input `{name}`", self.node.id.value);
        let diagnostic = Diagnostic::new(codes::UNKNOWN_ROOT, text.span, message);
        let help = match known.is_empty() {
            true => "add an input to the node, or remove the reference".to_owned(),
            false => format!("use one of {}", known.join(", ")),
        };
        Some(diagnostic.help(help))
    }

    fn placeholder(&self, text: &Text, placeholder: &Placeholder, sole: bool) -> Option<Diagnostic> {
        let path = &placeholder.path;
        let span = text.at(placeholder.range.clone());
        let root = path.root.as_str();
        match root {
            "context" => match path.steps.first() {
                Some((PathStep::Key(name), range)) => {
                    self.subject.undeclared_context(name, step_span(text, range))
                }
                _ => None,
            },
            "secrets" => self.secret(text, placeholder),
            "env" if self.node.input("env").is_none() && self.node.inputs.is_complete() => {
                let message = "the environment cannot be read from a flow";
                Some(Diagnostic::new(codes::UNKNOWN_ROOT, span, message).help(
                    "declare a context field and fill it by `deployment.context`, or use `${secrets.NAME}` in a header",
                ))
            }
            "prompt_output" if self.reply && !self.node.prompt.is_absent() => None,
            _ => {
                let port = if self.ports { self.node.input(root) } else { None };
                let Some(port) = port else {
                    let is_certain = !self.ports || self.node.inputs.is_complete();
                    return is_certain.then(|| self.unknown_root(text, placeholder));
                };
                let whole = path.steps.is_empty();
                let container = port.port_type.is_some_and(|port_type| {
                    !matches!(
                        port_type.value,
                        PortType::String | PortType::Number | PortType::Boolean | PortType::Document
                    )
                });
                if whole && container && !sole {
                    let word = port.port_type.map(|port_type| port_type.word()).unwrap_or_default();
                    let message = format!("`{path}` is of type `{word}` and cannot be part of a text");
                    let help = format!("let `${{{path}}}` be the whole value, or name a field of it");
                    return Some(Diagnostic::new(codes::EMBEDDED_CONTAINER, span, message).help(help));
                }
                if port.is_optional() && !placeholder.optional {
                    let message = format!("the input `{root}` is optional, and an absent value fails here");
                    let help = format!("write `${{{path}?}}` to leave it out when it is absent");
                    return Some(Diagnostic::new(codes::MAYBE_ABSENT, span, message).help(help));
                }
                None
            }
        }
    }

    fn secret(&self, text: &Text, placeholder: &Placeholder) -> Option<Diagnostic> {
        let span = text.at(placeholder.range.clone());
        if !matches!(placeholder.path.steps.as_slice(), [(PathStep::Key(_), _)]) {
            let message = "a secret is named by one word";
            return Some(
                Diagnostic::new(codes::BAD_PLACEHOLDER, span, message).help("write `${secrets.NAME}`"),
            );
        }
        (!self.secrets).then(|| {
            let message = format!("`{}` is used where it could leak", placeholder.path);
            Diagnostic::new(codes::MISPLACED_SECRET, span, message)
                .help("put it in `headers`, or in a model's `endpoint`")
        })
    }

    fn unknown_root(&self, text: &Text, placeholder: &Placeholder) -> Diagnostic {
        let root = placeholder.path.root.as_str();
        let span = text.at(placeholder.path.root_range.clone());
        if !self.ports {
            let message = format!("an endpoint cannot read `{root}`");
            return Diagnostic::new(codes::UNKNOWN_ROOT, span, message)
                .help("use `context` or `secrets` there");
        }
        let mut known: Vec<&str> = self.node.inputs.iter().map(|port| port.name.as_str()).collect();
        let mut others = vec!["context"];
        if self.reply && self.node.prompt.is_read() {
            others.push("prompt_output");
        }
        let node = &self.node.id.value;
        let message = format!("node `{node}` has no input `{root}`");
        let diagnostic = Diagnostic::new(codes::UNKNOWN_ROOT, span, message);
        if self.subject.flow.nodes.contains_key(root) {
            return diagnostic.help(format!(
                "`{root}` is a node; add an input to `{node}` and an edge from `{root}` to it"
            ));
        }
        if self.subject.flow.context.declares(root) {
            return diagnostic.help(format!("write `${{context.{root}}}` for the request's field"));
        }
        known.extend(others);
        suggest(diagnostic, root, span, &known, |listed| format!("use one of {listed}"))
    }
}
