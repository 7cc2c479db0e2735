//! Changes that people ask for in one phrase: error handling and caching.

use stave_canon::{Object, Value};
use stave_operations::IO_FORMAT_RESPONSE;

use super::{EditError, State, edges_mut, node_mut, nodes_mut};
use crate::check::effect_words;
use crate::graph;
use crate::model::OUTPUT;

/// How long a result is kept when nobody says.
const DEFAULT_TTL_SECONDS: u64 = 3600;

/// Gives a node an error port, and a node that answers in its stead.
pub(super) fn error_handling(
    state: &State,
    flow: &mut Value,
    node: &str,
    port: Option<&str>,
    handler: Option<&str>,
) -> Result<(), EditError> {
    let owner = node_mut(flow, node)?;
    let existing = owner.get("error").and_then(|error| error.get("name")).and_then(Value::as_str);
    let port_name = existing.or(port).map_or_else(|| format!("{node}_error"), str::to_owned);
    let has_port = existing.is_some();
    // An edge from the error port that leads nowhere says what the handler is to be called.
    let leaving = state.flow.edges.iter().filter(|edge| {
        edge.from.as_ref().is_some_and(|end| {
            end.node.value == node && end.port.as_ref().is_some_and(|port| port.value == port_name)
        })
    });
    let mut dangling = None;
    for edge in leaving {
        let Some(to) = &edge.to else { continue };
        if graph::destination(&state.flow, to).is_ok() {
            return Err(EditError::Exists { what: format!("error handling of node `{node}`, by `{to}`") });
        }
        if !to.node.value.starts_with('_') && !state.flow.nodes.contains_key(&to.node.value) {
            dangling = Some(to);
        }
    }
    let handler_id = dangling
        .map(|to| to.node.value.clone())
        .or_else(|| handler.map(str::to_owned))
        .unwrap_or_else(|| format!("{node}_fallback"));
    let input =
        dangling.and_then(|to| to.port.as_ref()).map_or("error", |port| port.value.as_str()).to_owned();
    if !has_port {
        let error = Value::from_iter([("name", port_name.as_str()), ("type", "object")]);
        let after = ["outputs", "inputs", "type"].iter().find_map(|key| owner.get_index_of(*key));
        let index = after.map_or(owner.len(), |index| index + 1);
        owner.shift_remove("error");
        owner.shift_insert(index.min(owner.len()), "error".to_owned(), error);
    }
    let nodes = nodes_mut(flow)?;
    if nodes.contains_key(&handler_id) {
        return Err(EditError::Exists { what: format!("a node `{handler_id}`") });
    }
    let index = nodes.get_index_of(node).map_or(nodes.len(), |index| index + 1);
    nodes.shift_insert(index, handler_id.clone(), handler_node(&input));
    let field_edges = state.flow.edges.iter().filter_map(|edge| edge.to.as_ref());
    let has_fields = field_edges.clone().any(|end| end.node.value == OUTPUT && end.port.is_some());
    let answer = if has_fields { format!("{OUTPUT}.error") } else { OUTPUT.to_owned() };
    let edges = edges_mut(flow)?;
    let edge = |from: String, to: String| Value::from_iter([("from", from), ("to", to)]);
    if dangling.is_none() {
        edges.push(edge(format!("{node}.{port_name}"), format!("{handler_id}.{input}")));
    }
    edges.push(edge(format!("{handler_id}.response"), answer));
    Ok(())
}

fn handler_node(input: &str) -> Value {
    let text = |text: &str| Value::from(text);
    let port = |name: &str| Value::from_iter([("name", name), ("type", "object")]);
    let template = Value::from_iter([
        ("status", text("error")),
        ("reason", Value::from(format!("${{{input}.reason}}"))),
    ]);
    let args = Value::from_iter([("template", template)]);
    let spec = Value::from_iter([("op", text(IO_FORMAT_RESPONSE.name)), ("args", args)]);
    Value::from_iter([
        ("type", text("transform")),
        ("inputs", Value::Array(vec![port(input)])),
        ("outputs", Value::Array(vec![port("response")])),
        ("transform", Value::from_iter([("mode", text("declarative")), ("spec", spec)])),
    ])
}

/// Keeps a node's results. A node whose answer depends on more than its inputs gets a key of its inputs.
pub(super) fn caching(
    state: &State,
    flow: &mut Value,
    node: &str,
    ttl_seconds: Option<u64>,
    key: Option<&str>,
) -> Result<(), EditError> {
    let owner = node_mut(flow, node)?;
    let Some(model) = state.flow.nodes.get(node) else {
        return Err(EditError::invalid(format!("node `{node}` is not a mapping")));
    };
    if let Some(actor) = graph::effect(&state.flow, model) {
        let actor = effect_words(model, actor);
        return Err(EditError::invalid(format!(
            "{actor} has effects, and a cached answer would leave them out"
        )));
    }
    let runtime = owner.entry("runtime".to_owned()).or_default();
    if runtime.is_null() {
        *runtime = Value::Object(Object::new());
    }
    let Some(runtime) = runtime.as_object_mut() else {
        return Err(EditError::invalid(format!("`runtime` of node `{node}` is not a mapping")));
    };
    let old = runtime.get("cache").filter(|cache| !cache.is_null()).cloned();
    if old.is_some() && ttl_seconds.is_none() && key.is_none() {
        return Err(EditError::Exists { what: format!("a cache of node `{node}`") });
    }
    let mut cache = match old {
        Some(Value::Object(cache)) => cache,
        _ => Object::new(),
    };
    if let Some(ttl) = ttl_seconds.or((!cache.contains_key("ttl_seconds")).then_some(DEFAULT_TTL_SECONDS)) {
        cache.insert("ttl_seconds".to_owned(), Value::from(ttl));
    }
    let needs_key = model.state.is_read() || reads_time(state, node);
    let inputs: Vec<String> = model.inputs.iter().map(|port| format!("{{{}}}", port.name.as_str())).collect();
    let own_key = (needs_key && !inputs.is_empty() && !cache.contains_key("key")).then(|| inputs.join(":"));
    if let Some(key) = key.map(str::to_owned).or(own_key) {
        cache.insert("key".to_owned(), Value::from(key));
    }
    runtime.insert("cache".to_owned(), Value::Object(cache));
    Ok(())
}

fn reads_time(state: &State, node: &str) -> bool {
    let Some(model) = state.flow.nodes.get(node) else { return false };
    let inside = |span: stave_diag::Span| span.start >= model.span.start && span.end <= model.span.end;
    crate::service::occurrences(&state.flow, &state.text).iter().any(|occurrence| {
        occurrence.symbol == crate::service::Symbol::Context("event_time".to_owned())
            && inside(occurrence.span)
    })
}
