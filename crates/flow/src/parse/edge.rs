//! Edges and their ends.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::fields::{Fields, Reader, wrong_type};
use super::node::first_line;
use crate::model::{Edge, Endpoint, ReadableList, Spanned, Text};
use crate::yaml::{Tree, YamlEntry};

pub(super) fn edges(reader: &mut Reader<'_>, entry: &YamlEntry) -> ReadableList<Edge> {
    let Some(items) = entry.value.items() else {
        wrong_type(reader, &entry.value, entry.key.span, "`edges` of the flow", "a list");
        return ReadableList::unreadable();
    };
    let read: Vec<Edge> =
        items.iter().enumerate().filter_map(|(index, item)| edge(reader, item, index)).collect();
    let unreadable = items.len() - read.len();
    ReadableList::new(read, unreadable)
}

fn edge(reader: &mut Reader<'_>, item: &Tree, index: usize) -> Option<Edge> {
    let mut fields = Fields::of(reader, item, first_line(item), "the edge".to_owned())?;
    let from = fields.required_text(reader, "from").and_then(|text| endpoint(reader, &text));
    let to = fields.required_text(reader, "to").and_then(|text| endpoint(reader, &text));
    let condition = fields.readable_text(reader, "condition");
    let transform = fields.readable_text(reader, "transform");
    fields.added_in(reader, 1, &["else"]);
    let written = fields.boolean(reader, "else").as_ref() == Some(&true);
    let otherwise = fields.optional("else").filter(|_| written).map(|entry| entry.key.span);
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Edge { span, index, from, to, condition, otherwise, transform, extra })
}

fn endpoint(reader: &mut Reader<'_>, text: &Text) -> Option<Endpoint> {
    let whole = text.as_str();
    let (node, port) = match whole.split_once('.') {
        Some((node, port)) => (node, Some(port)),
        None => (whole, None),
    };
    let word = |part: &str| {
        !part.is_empty() && !part.contains(|character: char| character == '.' || character.is_whitespace())
    };
    if !word(node) || !port.is_none_or(word) {
        let message = format!("`{whole}` names no end of an edge");
        reader.report(
            Diagnostic::new(codes::BAD_ENDPOINT, text.span, message)
                .help("write `node.port`, or `node` alone for its only port"),
        );
        return None;
    }
    let node_span = text.at(0..node.len());
    let port = port.map(|port| Spanned::new(port.to_owned(), text.at(node.len() + 1..whole.len())));
    Some(Endpoint { span: text.at(0..whole.len()), node: Spanned::new(node.to_owned(), node_span), port })
}
