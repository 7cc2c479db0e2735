//! Declarative operations are in the catalogue and have the arguments they need.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_operations::{Argument, ArgumentKind, Descriptor, RESERVED};
use stave_script::{check_expression, interpolation};

use super::subject::{Subject, listed, suggest};
use crate::model::{Node, Operation, PortType, Text, Transform};
use crate::yaml::{Tree, TreeValue};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(operation) = node.transform.as_ref().and_then(Transform::operation) else { continue };
        let Some(op) = &operation.op else { continue };
        match stave_operations::operation(op.as_str()) {
            Some(schema) => arguments(node, operation, schema, diagnostics),
            None => diagnostics.push(unknown(op)),
        }
    }
}

fn unknown(op: &Text) -> Diagnostic {
    let name = op.as_str();
    if RESERVED.contains(&name) {
        let message = format!("the operation `{name}` is reserved; it is accepted and cannot be run");
        return Diagnostic::new(codes::RESERVED_OP, op.span, message)
            .help("use `http.post` or code until then");
    }
    let known: Vec<&str> = stave_operations::operations().map(|operation| operation.name).collect();
    let diagnostic = Diagnostic::new(codes::UNKNOWN_OP, op.span, format!("there is no operation `{name}`"));
    suggest(diagnostic, name, op.span, &known, |listed| format!("use one of {listed}"))
}

fn arguments(node: &Node, operation: &Operation, schema: &Descriptor, diagnostics: &mut Vec<Diagnostic>) {
    let Some(args) = &operation.args else { return };
    let place = operation.op.as_ref().map_or(operation.key, |op| op.span);
    let missing = |what: String, help: String| {
        Diagnostic::new(codes::MISSING_ARGUMENT, place, format!("`{}` needs {what}", schema.name)).help(help)
    };
    for argument in schema.arguments.iter().filter(|argument| argument.required) {
        if args.get(argument.name).is_none() {
            let what = format!("the argument `{}`", argument.name);
            diagnostics
                .push(missing(what, format!("add `{}` to `args`: {}", argument.name, argument.summary)));
        }
    }
    for group in schema.one_of {
        let given: Vec<&str> = group.iter().copied().filter(|name| args.get(name).is_some()).collect();
        match given.as_slice() {
            [] => {
                let words = listed(group.iter().copied()).replace(" and ", " or ");
                diagnostics.push(missing(format!("the argument {words}"), format!("add {words} to `args`")));
            }
            [_] => {}
            [first, second, ..] => {
                let message = format!("`{}` takes `{first}` or `{second}`, not both", schema.name);
                let span = args.entry(second).map_or(place, |entry| entry.key.span);
                diagnostics.push(
                    Diagnostic::new(codes::CONFLICTING_ARGUMENTS, span, message)
                        .help(format!("remove `{first}` or `{second}`")),
                );
            }
        }
    }
    for entry in args.entries().unwrap_or_default() {
        let name = entry.key.as_str();
        match schema.argument(name) {
            Some(argument) => value(node, argument, &entry.value, diagnostics),
            None if name.starts_with("x-") => {}
            None => {
                let known: Vec<&str> = schema
                    .arguments
                    .iter()
                    .map(|argument| argument.name)
                    .filter(|known| args.get(known).is_none())
                    .collect();
                let message = format!("`{}` has no argument `{name}`", schema.name);
                let diagnostic = Diagnostic::new(codes::UNKNOWN_ARGUMENT, entry.key.span, message);
                diagnostics.push(suggest(diagnostic, name, entry.key.span, &known, |listed| {
                    format!("remove it; it could also have {listed}")
                }));
            }
        }
    }
}

fn value(node: &Node, argument: &Argument, tree: &Tree, diagnostics: &mut Vec<Diagnostic>) {
    if let ArgumentKind::Expression(scope) = argument.kind
        && let Some(text) = tree.text()
    {
        diagnostics.extend(check_expression(&text.embedded, scope).diagnostics);
        return;
    }
    let wrong = |what: &str| {
        let message = format!("`{}` must be {}, and this is {what}", argument.name, argument.kind.words());
        Diagnostic::new(codes::WRONG_TYPE, tree.span, message).help(argument.summary)
    };
    if let Some(text) = tree.text().filter(|text| is_placeholder(text.as_str())) {
        let port_type = whole_input(node, text.as_str());
        if let (ArgumentKind::List, Some(port_type)) = (argument.kind, port_type)
            && port_type.json_type() != "array"
        {
            diagnostics.push(wrong(&format!("an input of type `{}`", port_type.word())));
        }
        return;
    }
    if !fits(argument.kind, tree) {
        diagnostics.push(wrong(tree.kind()));
    }
}

/// Whether a text is one `${…}` and nothing else, so that its value keeps its type. A malformed one is
/// reported as such elsewhere.
fn is_placeholder(text: &str) -> bool {
    text.starts_with("${") && text.ends_with('}')
}

/// The type of the input that a text stands for, when it stands for a whole one.
fn whole_input(node: &Node, text: &str) -> Option<PortType> {
    let parsed = interpolation::parse(text).ok()?;
    let path = &parsed.sole()?.path;
    let port = node.input(&path.root).filter(|_| path.steps.is_empty())?;
    port.port_type.map(|port_type| port_type.value)
}

fn fits(kind: ArgumentKind, tree: &Tree) -> bool {
    let text = |tree: &Tree| matches!(tree.value, TreeValue::String(_));
    let integer = |tree: &Tree| matches!(&tree.value, TreeValue::Number(number) if number.is_integer());
    let scalar =
        |tree: &Tree| matches!(tree.value, TreeValue::String(_) | TreeValue::Number(_) | TreeValue::Bool(_));
    let every = |tree: &Tree, item: &dyn Fn(&Tree) -> bool| match &tree.value {
        TreeValue::Mapping(entries) => entries.iter().all(|entry| item(&entry.value)),
        TreeValue::Sequence(items) => items.iter().all(item),
        _ => false,
    };
    let number = |tree: &Tree| matches!(tree.value, TreeValue::Number(_));
    let positive = |tree: &Tree| matches!(&tree.value, TreeValue::Number(number) if number.as_i64().is_some_and(|number| number > 0));
    let status = |tree: &Tree| matches!(&tree.value, TreeValue::Number(number) if number.as_i64().is_some_and(|code| (100..600).contains(&code)));
    let list = matches!(tree.value, TreeValue::Sequence(_));
    let mapping = matches!(tree.value, TreeValue::Mapping(_));
    match kind {
        ArgumentKind::Any => true,
        ArgumentKind::Text
        | ArgumentKind::Url
        | ArgumentKind::Node
        | ArgumentKind::Expression(_)
        | ArgumentKind::Reference => text(tree),
        ArgumentKind::TextOrInteger => text(tree) || integer(tree),
        ArgumentKind::Key => scalar(tree) || (mapping && every(tree, &scalar)),
        ArgumentKind::Map => mapping,
        ArgumentKind::Headers => mapping && every(tree, &scalar),
        ArgumentKind::TextList => list && every(tree, &text),
        ArgumentKind::TextMap => mapping && every(tree, &text),
        ArgumentKind::Count => positive(tree),
        ArgumentKind::Number => number(tree),
        ArgumentKind::Statuses => status(tree) || (list && every(tree, &status)),
        ArgumentKind::List => list,
    }
}
