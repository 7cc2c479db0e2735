//! NodeMap, ports, transforms and positions.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::fields::{Fields, Reader, as_text, unknown_word, wrong_type};
use super::{prompt, runtime};
use crate::model::{
    CanvasPosition, Node, NodeType, Operation, Port, PortType, Readable, ReadableList, Spanned, Transform,
    TransformMode, TransformSpec,
};
use crate::yaml::{Tree, YamlEntry};

/// Node types that later versions of the format are to have.
const RESERVED_TYPES: [&str; 4] = ["boundary", "subflow", "stream", "batch"];

pub(super) fn node(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<Node> {
    let id = entry.key.clone();
    let owner = format!("node `{}`", id.value);
    let mut fields = Fields::of(reader, &entry.value, id.span, owner.clone())?;
    let id_field = fields.readable_text(reader, "id");
    let node_type = fields.required(reader, "type").and_then(|entry| node_type(reader, entry, &owner));
    let inputs = fields.required(reader, "inputs").map(|entry| ports(reader, entry, "input", &owner));
    let outputs = fields.required(reader, "outputs").map(|entry| ports(reader, entry, "output", &owner));
    let error = fields.readable("error", |entry| {
        port(reader, &entry.value, entry.key.span, &format!("the error port of {owner}"), true)
    });
    let prompt = fields.readable("prompt", |entry| prompt::prompt(reader, entry, &owner));
    let transform = fields.optional("transform");
    if transform.is_none() && prompt.is_absent() {
        let message = format!("{owner} has neither a `transform` nor a `prompt`, so it does nothing");
        reader.report(
            Diagnostic::new(codes::NO_IMPLEMENTATION, id.span, message)
                .help("add `transform:` with a `mode` and a `spec`, or `prompt:` with a `template`"),
        );
    }
    let transform =
        transform.map_or(Readable::Absent, |entry| Readable::of(self::transform(reader, entry, &owner)));
    let runtime = fields.optional("runtime").and_then(|entry| runtime::runtime(reader, entry, &owner));
    let state = fields.readable("state", |entry| runtime::state(reader, entry, &owner));
    let position = fields.optional("position").and_then(|entry| position(reader, entry, &owner));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Node {
        id,
        span,
        id_field,
        node_type,
        inputs: inputs.unwrap_or_else(ReadableList::unreadable),
        outputs: outputs.unwrap_or_else(ReadableList::unreadable),
        error,
        prompt,
        transform,
        runtime: runtime.unwrap_or_default(),
        state,
        position,
        extra,
    })
}

fn node_type(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Spanned<NodeType>> {
    let text = as_text(reader, entry, &format!("`type` of {owner}"))?;
    if text.as_str() == "transform" {
        return Some(Spanned::new(NodeType::Transform, text.span));
    }
    let diagnostic = if RESERVED_TYPES.contains(&text.as_str()) {
        let message = format!("`type` of {owner} cannot be `{}`, which is not in version 1.0", text.as_str());
        Diagnostic::new(codes::UNKNOWN_WORD, text.span, message)
            .help("version 1.0 has the type `transform` only")
    } else {
        unknown_word(&text, &format!("`type` of {owner}"), ["transform"].into_iter())
    };
    reader.report(diagnostic);
    None
}

fn ports(reader: &mut Reader<'_>, entry: &YamlEntry, direction: &str, owner: &str) -> ReadableList<Port> {
    let Some(items) = entry.value.items() else {
        let path = format!("`{}` of {owner}", entry.key.value);
        wrong_type(reader, &entry.value, entry.key.span, &path, "a list of ports");
        return ReadableList::unreadable();
    };
    let named = |item: &Tree| {
        let name = item.get("name").and_then(Tree::text);
        name.map_or_else(
            || format!("an {direction} of {owner}"),
            |name| format!("{direction} `{}` of {owner}", name.as_str()),
        )
    };
    let read: Vec<Port> =
        items.iter().filter_map(|item| port(reader, item, first_line(item), &named(item), false)).collect();
    let unreadable = items.len() - read.len();
    ReadableList::new(read, unreadable)
}

/// Where to report what an item of a list lacks: its first key, or the item itself.
pub(super) fn first_line(item: &Tree) -> Span {
    let first = item.entries().and_then(|entries| entries.first());
    first.map_or(item.span, |entry| {
        if entry.key.span.start >= item.span.start && entry.key.span.end <= item.span.end {
            entry.key.span
        } else {
            item.span
        }
    })
}

fn port(reader: &mut Reader<'_>, tree: &Tree, key: Span, owner: &str, is_error: bool) -> Option<Port> {
    let mut fields = Fields::of(reader, tree, key, owner.to_owned())?;
    let name = fields.required_text(reader, "name");
    let written = if is_error { fields.optional("type") } else { fields.required(reader, "type") };
    let words = PortType::ALL.map(|port_type| (port_type.word(), port_type));
    let mut port_type = written.and_then(|entry| fields.word(reader, entry, &words));
    if is_error && written.is_none() {
        port_type = Some(Spanned::new(PortType::Object, tree.span));
    }
    let schema = fields.optional("schema").map(|entry| entry.value.clone());
    let optional = fields.boolean(reader, "optional");
    let description = fields.text(reader, "description");
    let sensitivity = fields.sensitivity(reader, "sensitivity");
    let accepts = if is_error { None } else { fields.sensitivity(reader, "accepts") };
    let extra = fields.finish(reader);
    Some(Port {
        span: tree.span,
        name: name?,
        port_type,
        type_written: written.is_some(),
        schema,
        optional,
        description,
        sensitivity,
        accepts,
        extra,
    })
}

fn transform(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Transform> {
    let owner = format!("`transform` of {owner}");
    let key = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key, owner.clone())?;
    let words = [("declarative", TransformMode::Declarative), ("code", TransformMode::Code)];
    let mode = fields.required(reader, "mode").and_then(|entry| fields.word(reader, entry, &words));
    let spec = fields.required(reader, "spec").and_then(|entry| {
        // Without a mode the shape shows what was meant, so that the rest is checked all the same.
        let as_code = mode.map_or(entry.value.text().is_some(), |mode| mode.value == TransformMode::Code);
        if as_code {
            let path = format!("`spec` of {owner}");
            return code(reader, entry, &path);
        }
        operation(reader, entry, &owner)
    });
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Transform { key, span, mode, spec, extra })
}

fn code(reader: &mut Reader<'_>, entry: &YamlEntry, path: &str) -> Option<TransformSpec> {
    match entry.value.text() {
        Some(text) => Some(TransformSpec::Code(text.clone())),
        None => {
            wrong_type(reader, &entry.value, entry.key.span, path, "Python text in mode `code`");
            None
        }
    }
}

fn operation(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<TransformSpec> {
    let key = entry.key.span;
    if entry.value.entries().is_none() {
        let path = format!("`spec` of {owner}");
        wrong_type(reader, &entry.value, key, &path, "a mapping with `op` and `args` in mode `declarative`");
        return None;
    }
    let mut fields = Fields::of(reader, &entry.value, key, format!("`spec` of {owner}"))?;
    let op = fields.required_text(reader, "op");
    let args = fields.required(reader, "args").and_then(|args| {
        if args.value.entries().is_none() {
            let path = format!("`args` of {owner}");
            wrong_type(reader, &args.value, args.key.span, &path, "a mapping");
            return None;
        }
        Some(args.value.clone())
    });
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(TransformSpec::Operation(Operation { key, span, op, args, extra }))
}

fn position(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<CanvasPosition> {
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, format!("`position` of {owner}"))?;
    fields.required(reader, "x");
    fields.required(reader, "y");
    let (x, y) = (fields.number(reader, "x"), fields.number(reader, "y"));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(CanvasPosition { span, x, y, extra })
}
