//! The words that a place offers: ports, fields, operations.

use crate::model::{BUILT_IN_CONTEXT, Flow, INPUT, Node, OUTPUT, Port, Text};

/// A word to offer, with its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) detail: String,
}

pub(super) fn word(text: impl Into<String>, detail: impl Into<String>) -> Word {
    Word { text: text.into(), detail: detail.into() }
}

/// `_input.field` and the ports that values leave from.
pub(super) fn origins(flow: &Flow) -> Vec<Word> {
    let fields =
        flow.context.fields().map(|field| word(format!("{INPUT}.{}", field.as_str()), "request field"));
    let ports = flow.nodes.values().flat_map(|node| {
        let outputs = node.outputs.iter().map(|port| (port, "output"));
        let ports = outputs.chain(node.error.iter().map(|port| (port, "error port")));
        ports.map(|(port, role)| {
            word(format!("{}.{}", node.id.value, port.name.as_str()), format!("{role}, {}", type_word(port)))
        })
    });
    fields.chain(ports).collect()
}

/// `_output` and the ports that values enter.
pub(super) fn destinations(flow: &Flow) -> Vec<Word> {
    let ports = flow.nodes.values().flat_map(|node| {
        node.inputs.iter().map(|port| {
            word(format!("{}.{}", node.id.value, port.name.as_str()), format!("input, {}", type_word(port)))
        })
    });
    std::iter::once(word(OUTPUT, "the response")).chain(ports).collect()
}

pub(super) fn context_fields(flow: &Flow) -> Vec<Word> {
    let declared = flow.context.fields().map(|field| word(field.as_str(), "context field"));
    let built_in = BUILT_IN_CONTEXT
        .into_iter()
        .filter(|name| !flow.context.declares(name))
        .map(|name| word(name, "always provided"));
    declared.chain(built_in).collect()
}

pub(super) fn inputs(node: &Node) -> Vec<Word> {
    node.inputs.iter().map(|port| word(port.name.as_str(), format!("input, {}", type_word(port)))).collect()
}

/// The properties that a port's schema names.
pub(super) fn properties(port: &Port) -> Vec<Word> {
    let properties = port.schema.as_ref().and_then(|schema| schema.get("properties"));
    let entries = properties.and_then(crate::yaml::Tree::entries).unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            let kind = entry.value.get("type").and_then(crate::yaml::Tree::text).map_or("any", Text::as_str);
            word(entry.key.value.as_str(), kind)
        })
        .collect()
}

pub(super) fn type_word(port: &Port) -> &'static str {
    port.port_type.as_ref().map_or("no type", |port_type| port_type.value.word())
}
