//! The OpenAPI document, derived from the table of operations.
//!
//! Types of requests are closed, since a request with an unknown member is refused. Types of replies are open: a later
//! version may add members, and clients pass over those that they do not know.

use std::collections::BTreeSet;

use stave_canon::{Object, Value, percent_encode};
use stave_exec::Document;
use stave_shape::{Definitions, Shape};

use crate::api::{Body, Content, Operation, ParameterSchema, Place, ProblemDocument, TABLE};
use crate::handlers::Call;
use crate::roles::Need;

/// The parameter of a path that names a flow.
const FLOW: &str = "{name}";

/// The document of all operations, whatever flows a server has.
#[must_use]
pub fn openapi() -> Value {
    let mut writer = Writer::default();
    for operation in TABLE {
        writer.add(operation, operation.path, None);
    }
    writer.finish(env!("CARGO_PKG_VERSION"), true)
}

/// The document of what a principal can ask for, with the paths of each flow that it sees.
pub(crate) fn document(call: &Call<'_>) -> Value {
    let options = &call.shared.options;
    let catalog = call.shared.catalog();
    let mut writer = Writer::default();
    let has_studio = options.studio.is_some();
    for operation in TABLE.iter().filter(|operation| has_studio || !operation.is_of_studio()) {
        if !operation.path.contains(FLOW) {
            writer.add(operation, operation.path, None);
            continue;
        }
        for (index, model) in catalog.seen(&call.principal).enumerate() {
            let path = operation.path.replace(FLOW, &percent_encode(&model.name));
            let flow = Flow { index, name: &model.name, document: &model.document };
            writer.add(operation, &path, Some(flow));
        }
    }
    writer.finish(options.version, !options.keys.current().is_empty())
}

/// A flow that has paths of its own.
#[derive(Clone, Copy)]
struct Flow<'f> {
    index: usize,
    name: &'f str,
    document: &'f Document,
}

#[derive(Default)]
struct Writer {
    paths: Object,
    definitions: Definitions,
}

impl Writer {
    fn add(&mut self, operation: &Operation, path: &str, flow: Option<Flow<'_>>) {
        let value = self.operation(operation, flow);
        let item = self.paths.entry(path.to_owned()).or_insert_with(|| Value::Object(Object::new()));
        if let Some(item) = item.as_object_mut() {
            item.insert(operation.method.to_lowercase(), value);
        }
    }

    fn operation(&mut self, operation: &Operation, flow: Option<Flow<'_>>) -> Value {
        let mut members = Object::new();
        let id = flow.map_or(operation.id.to_owned(), |flow| format!("{}{}", operation.id, flow.index));
        members.insert("operationId".into(), id.into());
        let about =
            flow.map_or(operation.about.to_owned(), |flow| format!("{} `{}`", operation.about, flow.name));
        members.insert("summary".into(), about.into());
        if let Need::Role(_) = operation.need {
            let description = format!("A key needs the role {}.", operation.need.words());
            members.insert("description".into(), description.into());
        }
        if operation.is_of_studio() {
            members.insert("tags".into(), vec!["studio"].into());
        }
        let parameters = self.parameters(operation, flow.is_some());
        if !parameters.is_empty() {
            members.insert("parameters".into(), parameters.into());
        }
        if let Some(body) = operation.body {
            members.insert("requestBody".into(), self.body(body, flow));
        }
        let mut responses = Object::new();
        responses.insert("200".into(), self.response("What was asked for", operation.ok));
        if let Some((status, content)) = operation.other {
            let about = match status {
                202 => "The run was accepted, and continues or waits for a person",
                _ => "Not now",
            };
            responses.insert(status.to_string(), self.response(about, content));
        }
        let problem =
            content("application/problem+json", Some(ProblemDocument::schema(&mut self.definitions)));
        responses.insert("default".into(), answered("Why not", problem));
        members.insert("responses".into(), responses.into());
        if operation.need == Need::Nothing {
            members.insert("security".into(), Value::Array(Vec::new()));
        }
        members.into()
    }

    fn parameters(&mut self, operation: &Operation, has_flow: bool) -> Vec<Value> {
        let named = operation.path_parameters().filter(|name| !has_flow || *name != "name");
        let not_empty = Value::from_iter([("type", Value::from("string")), ("minLength", 1.into())]);
        let mut parameters: Vec<Value> =
            named.map(|name| parameter(name, "path", true, not_empty.clone())).collect();
        for one in operation.parameters {
            let schema = match &one.schema {
                ParameterSchema::Text(text) => stave_canon::parse(text).unwrap_or_default(),
                ParameterSchema::Type(of) => (of.schema)(&mut self.definitions),
            };
            let place = match one.place {
                Place::Query => "query",
                Place::Header => "header",
            };
            parameters.push(parameter(one.name, place, one.is_required, schema));
        }
        parameters
    }

    fn body(&mut self, body: Body, flow: Option<Flow<'_>>) -> Value {
        let (schema, is_required) = match body {
            Body::Needed(of) => ((of.schema)(&mut self.definitions), true),
            Body::Optional(of) => ((of.schema)(&mut self.definitions), false),
            Body::FlowRequest => (flow_request(flow), true),
            Body::Message => (Value::from_iter([("type", "object")]), true),
        };
        let content = content("application/json", Some(schema));
        Value::from_iter([("content", content), ("required", is_required.into())])
    }

    fn response(&mut self, about: &str, of: Content) -> Value {
        let content = match of {
            Content::Json(of) => content("application/json", Some((of.schema)(&mut self.definitions))),
            Content::AnyJson => content("application/json", None),
            Content::Media(media) => content(media, None),
        };
        answered(about, content)
    }

    fn finish(self, version: &str, has_keys: bool) -> Value {
        let mut components = Object::new();
        components.insert("schemas".into(), schemas(self.definitions).into());
        let mut document = Object::new();
        document.insert("openapi".into(), "3.1.0".into());
        let info = [("title", Value::from("Stave")), ("version", version.into())];
        document.insert("info".into(), info.into_iter().collect());
        document.insert("paths".into(), self.paths.into());
        if has_keys {
            let scheme = Value::from_iter([("type", "http"), ("scheme", "bearer")]);
            components.insert("securitySchemes".into(), Value::from_iter([("key", scheme)]));
            let need = Value::from_iter([("key", Value::Array(Vec::new()))]);
            document.insert("security".into(), Value::Array(vec![need]));
        }
        document.insert("components".into(), components.into());
        let mut document = document.into();
        refer_to_components(&mut document);
        document
    }
}

/// The schemas of all types, those of replies open.
fn schemas(definitions: Definitions) -> Object {
    let requests = request_types();
    let mut types = definitions.into_types();
    for (name, schema) in &mut types {
        if let Some(schema) = schema.as_object_mut().filter(|_| !requests.contains(name))
            && schema.get("additionalProperties") == Some(&Value::Bool(false))
        {
            schema.shift_remove("additionalProperties");
        }
    }
    types
}

/// The names of the types that requests are made of.
fn request_types() -> BTreeSet<String> {
    let mut definitions = Definitions::default();
    for operation in TABLE {
        if let Some(Body::Needed(of) | Body::Optional(of)) = operation.body {
            (of.schema)(&mut definitions);
        }
    }
    definitions.into_types().into_iter().map(|(name, _)| name).collect()
}

/// Schemas refer to each other as parts of one schema; here they are components of a document.
fn refer_to_components(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                let name = member.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
                match name.filter(|_| key == "$ref") {
                    Some(name) => *member = format!("#/components/schemas/{name}").into(),
                    None => refer_to_components(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(refer_to_components),
        _ => {}
    }
}

/// What a flow takes, or a batch of it.
fn flow_request(flow: Option<Flow<'_>>) -> Value {
    let Some(flow) = flow else { return Value::from_iter([("type", "object")]) };
    let request = Value::from(flow.document.inputs_schema.clone());
    // A request of a batch that does not fit is answered in its place, so it is taken.
    let any = Value::Object(Object::new());
    let instances = Value::from_iter([("type", Value::from("array")), ("items", any)]);
    let batch = Value::from_iter([
        ("type", Value::from("object")),
        ("required", vec!["instances"].into()),
        ("properties", Value::from_iter([("instances", instances)])),
    ]);
    Value::from_iter([("anyOf", Value::Array(vec![request, batch]))])
}

fn answered(about: &str, content: Value) -> Value {
    Value::from_iter([("description", Value::from(about)), ("content", content)])
}

fn content(media: &str, schema: Option<Value>) -> Value {
    let described: Value = schema.map(|schema| ("schema", schema)).into_iter().collect();
    Value::from_iter([(media, described)])
}

fn parameter(name: &str, place: &str, is_required: bool, schema: Value) -> Value {
    Value::from_iter([
        ("name", Value::from(name)),
        ("in", place.into()),
        ("required", is_required.into()),
        ("schema", schema),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference in a value.
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_to_a_schema_and_every_schema_is_used() {
        let document = openapi();
        let mut found = Vec::new();
        references(&document, &mut found);
        for reference in &found {
            let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
            assert!(target.is_some_and(|target| target.as_object().is_some()), "{reference} leads nowhere");
        }
        let schemas = document.pointer("/components/schemas").and_then(Value::as_object).unwrap();
        for name in schemas.keys() {
            let reference = format!("#/components/schemas/{name}");
            assert!(found.contains(&reference.as_str()), "nothing refers to {name}");
        }
    }

    #[test]
    fn the_document_has_the_operations_of_the_router_and_no_others() {
        let document = openapi();
        let paths = document.get("paths").and_then(Value::as_object).unwrap();
        let mut listed = Vec::new();
        for (path, item) in paths {
            for (method, operation) in item.as_object().unwrap() {
                listed.push(format!("{} {path}", method.to_uppercase()));
                let names = operation.get("parameters").and_then(Value::as_array).unwrap_or_default();
                let named = |place: &str| {
                    let in_place = names.iter().filter(move |one| one.get("in") == Some(&place.into()));
                    in_place.filter_map(|one| one.get("name")?.as_str()).collect::<Vec<_>>()
                };
                assert_eq!(named("path").len(), path.matches('{').count(), "{method} {path}");
                let responses = operation.get("responses").and_then(Value::as_object).unwrap();
                assert!(responses.contains_key("200") && responses.contains_key("default"), "{path}");
            }
        }
        let mut routes: Vec<String> =
            TABLE.iter().map(|one| format!("{} {}", one.method, one.path)).collect();
        listed.sort();
        routes.sort();
        assert_eq!(listed, routes);
    }

    #[test]
    fn requests_are_closed_and_replies_are_open() {
        let document = openapi();
        let is_closed = |name: &str| {
            let schema = document.pointer(&format!("/components/schemas/{name}")).unwrap();
            schema.get("additionalProperties") == Some(&Value::Bool(false))
        };
        assert!(is_closed("StartRun") && is_closed("Decide"));
        assert!(!is_closed("RunPage") && !is_closed("ProblemDocument"));
    }
}
