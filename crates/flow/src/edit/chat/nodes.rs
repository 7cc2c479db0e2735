//! "Add a node that …".

use stave_canon::Value;
use stave_operations::{
    Descriptor, HOPSWORKS_GET_MODEL, HOPSWORKS_READ_FEATURES, HOPSWORKS_WRITE_FEATURES, HTTP_GET, HTTP_POST,
    TRANSFORM_FILTER, TRANSFORM_MAP, TRANSFORM_REDUCE,
};

use super::{FlowEdit, Meaning, after};
use crate::edit::blank_node;
use crate::model::{Flow, Text};

pub(super) fn add_node(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let openings: &[&[&str]] = &[
        &["add", "a", "node"],
        &["add", "a", "new", "node"],
        &["add", "a", "step"],
        &["add", "node"],
        &["create", "a", "node"],
        &["insert", "a", "node"],
    ];
    let rest = after(words, openings)?;
    let rest = after(rest, &[&["that"], &["which"], &["to"], &["for"]]).unwrap_or(rest);
    let (verb, object) = rest.split_first()?;
    let url = object.iter().find(|word| word.starts_with("http://") || word.starts_with("https://"));
    let has = |wanted: &[&str]| object.iter().any(|word| wanted.iter().any(|known| word.starts_with(known)));
    let verb = verb.trim_end_matches('s');
    Some(match (verb, url) {
        ("post" | "send", Some(url)) => http(flow, &HTTP_POST, url),
        ("call" | "fetche" | "fetch" | "get" | "read" | "request" | "download" | "load", Some(url)) => {
            http(flow, &HTTP_GET, url)
        }
        ("fetche" | "fetch" | "read" | "get" | "load" | "retrieve" | "look", None) if has(&["feature"]) => {
            features(flow, object)
        }
        ("write" | "store" | "save", None) if has(&["feature"]) => write_features(flow, object),
        ("fetche" | "fetch" | "read" | "get" | "load", None) if has(&["model"]) => model(object),
        ("filter", None) => list(flow, &TRANSFORM_FILTER, object),
        ("map" | "transform", None) => list(flow, &TRANSFORM_MAP, object),
        ("reduce" | "fold", None) => list(flow, &TRANSFORM_REDUCE, object),
        _ => {
            let known = "fetch features, write features, get a model, call or post to an address, filter, map or reduce";
            Meaning::Unclear(format!(
                "a node can be made to {known}; \"{}\" is not one of these",
                rest.join(" ")
            ))
        }
    })
}

/// An id that no node has.
fn free(flow: &Flow, wanted: &str) -> String {
    let name: String =
        wanted.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
    let name = if name.starts_with(|first: char| first.is_ascii_lowercase()) {
        name
    } else {
        format!("node_{name}")
    };
    let mut id = name.clone();
    let mut number = 2;
    while flow.nodes.contains_key(&id) {
        id = format!("{name}_{number}");
        number += 1;
    }
    id
}

fn port(name: &str, kind: &str) -> Value {
    Value::from_iter([("name", name), ("type", kind)])
}

fn node(inputs: Vec<Value>, outputs: Vec<Value>, operation: &Descriptor, args: Vec<(&str, Value)>) -> Value {
    let spec = Value::from_iter([("op", Value::from(operation.name)), ("args", Value::from_iter(args))]);
    Value::from_iter([
        ("type", Value::from("transform")),
        ("inputs", Value::Array(inputs)),
        ("outputs", Value::Array(outputs)),
        ("transform", Value::from_iter([("mode", Value::from("declarative")), ("spec", spec)])),
    ])
}

fn connect(from: String, to: String) -> FlowEdit {
    FlowEdit::Connect { from, to, condition: None, otherwise: false, transform: None }
}

/// The context field that names an entity, and the command that declares it when there is none.
fn key_field(flow: &Flow, noun: &str) -> (String, Option<FlowEdit>) {
    let wanted = format!("{noun}_id");
    let fields: Vec<&str> = flow.context.fields().map(Text::as_str).collect();
    let known = [wanted.as_str(), "user_id", "customer_id"].into_iter().find(|name| fields.contains(name));
    let known =
        known.or_else(|| fields.iter().copied().find(|name| name.ends_with("_id") && *name != "session_id"));
    match known {
        Some(name) => (name.to_owned(), None),
        None => {
            let add = FlowEdit::AddContext { field: wanted.clone(), optional: false };
            (wanted, Some(add))
        }
    }
}

/// The word ahead of "features", and the group after "from".
fn noun_and_group(object: &[&str]) -> (String, String) {
    let at = object.iter().position(|word| word.starts_with("feature")).unwrap_or(0);
    let before = object.get(..at).unwrap_or_default();
    let noun = before.iter().rev().find(|word| !["the", "a", "an", "some", "all", "of"].contains(word));
    let noun = noun.map_or("user", |word| word.trim_end_matches("'s")).to_owned();
    let from = object.iter().position(|word| matches!(*word, "from" | "to" | "into" | "in"));
    let group = from.and_then(|at| object.get(at + 1..)).unwrap_or_default();
    let group = group.iter().find(|word| !["the", "feature", "group"].contains(word));
    let group = group.map_or_else(|| format!("{noun}_features"), |word| (*word).to_owned());
    let clean = |text: String| -> String {
        text.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
    };
    (clean(noun), clean(group))
}

fn features(flow: &Flow, object: &[&str]) -> Meaning {
    let (noun, group) = noun_and_group(object);
    let (field, declare) = key_field(flow, &noun);
    let id = free(flow, &format!("fetch_{noun}_features"));
    let output = format!("{noun}_features");
    let body = node(
        vec![port(&field, "string")],
        vec![port(&output, "object")],
        &HOPSWORKS_READ_FEATURES,
        vec![("feature_group", Value::from(group)), ("key", Value::from(format!("${{{field}}}")))],
    );
    let mut commands: Vec<FlowEdit> = declare.into_iter().collect();
    commands.push(FlowEdit::AddNode { id: id.clone(), node: body, after: None });
    commands.push(connect(format!("_input.{field}"), format!("{id}.{field}")));
    Meaning::Commands(commands)
}

fn write_features(flow: &Flow, object: &[&str]) -> Meaning {
    let (noun, group) = noun_and_group(object);
    let source = flow.nodes.values().find_map(|node| {
        let port = node
            .outputs
            .iter()
            .find(|port| port.port_type.is_some_and(|kind| kind.value == crate::model::PortType::Object))?;
        Some(format!("{}.{}", node.id.value, port.name.as_str()))
    });
    let Some(source) = source else {
        return Meaning::Unclear("no node makes an object that could be written".to_owned());
    };
    let id = free(flow, &format!("write_{noun}_features"));
    let body = node(
        vec![port("data", "object")],
        Vec::new(),
        &HOPSWORKS_WRITE_FEATURES,
        vec![("feature_group", Value::from(group)), ("data", Value::from("${data}"))],
    );
    let add = FlowEdit::AddNode { id: id.clone(), node: body, after: None };
    Meaning::Commands(vec![add, connect(source, format!("{id}.data"))])
}

fn model(object: &[&str]) -> Meaning {
    let name = object.iter().rev().find(|word| !["the", "a", "model", "registry", "from"].contains(word));
    let Some(name) = name else {
        return Meaning::Unclear(
            "say which model: \"add a node that gets the model churn_predictor\"".to_owned(),
        );
    };
    let body = node(
        Vec::new(),
        vec![port("model", "object")],
        &HOPSWORKS_GET_MODEL,
        vec![("name", Value::from(*name))],
    );
    let id = format!("get_{}", name.replace('-', "_"));
    Meaning::Commands(vec![FlowEdit::AddNode { id, node: body, after: None }])
}

fn http(flow: &Flow, operation: &Descriptor, url: &str) -> Meaning {
    let host = url.split("//").nth(1).unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
    let word = host.split('.').rev().nth(1).unwrap_or("service").replace('-', "_");
    let verb = if operation.writes() { "post_to" } else { "call" };
    let id = free(flow, &format!("{verb}_{word}"));
    let mut args = vec![("url", Value::from(url))];
    let mut inputs = Vec::new();
    let mut commands = Vec::new();
    // What is written needs something to write.
    if operation.writes() {
        let Some(field) = flow.context.fields().next().map(Text::as_str) else {
            return Meaning::Unclear("the request has no field that could be posted".to_owned());
        };
        inputs.push(port(field, "string"));
        args.push(("body", Value::from_iter([(field, format!("${{{field}}}"))])));
        commands.push(connect(format!("_input.{field}"), format!("{id}.{field}")));
    }
    let body = node(inputs, vec![port("answer", "object")], operation, args);
    commands.insert(0, FlowEdit::AddNode { id, node: body, after: None });
    Meaning::Commands(commands)
}

fn list(flow: &Flow, operation: &Descriptor, object: &[&str]) -> Meaning {
    let source = match super::things::origin(flow, object) {
        Ok(thing) => thing,
        Err(reason) => return Meaning::Unclear(format!("say which list: {reason}")),
    };
    let (name, kind) = source.name_and_type(flow);
    if !matches!(kind, "array" | "table") {
        return Meaning::Unclear(format!("`{}` is {kind}, not a list", source.end()));
    }
    let Some(blank) = &operation.blank else {
        return Meaning::Unclear(format!("`{}` cannot be added as a node", operation.name));
    };
    // A new node as any editor begins it, with the list at its input.
    let begun = blank_node(blank);
    let args = begun.pointer("/transform/spec/args").and_then(Value::as_object).cloned().unwrap_or_default();
    let input = Value::from(format!("${{{name}}}"));
    let args = args.iter().map(|(key, value)| {
        let value = if key == "input" { input.clone() } else { value.clone() };
        (key.as_str(), value)
    });
    let id = free(flow, &format!("{}_{name}", blank.id));
    let body = node(vec![port(&name, "array")], vec![port("result", "array")], operation, args.collect());
    let add = FlowEdit::AddNode { id: id.clone(), node: body, after: None };
    Meaning::Commands(vec![add, connect(source.end(), format!("{id}.{name}"))])
}
