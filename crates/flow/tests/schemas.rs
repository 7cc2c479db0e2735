//! The published schemas say what the parser says.

#![expect(clippy::unwrap_used, reason = "a test helper fails by panicking")]

use jsonschema::Validator;
use stave_canon::Value;
use stave_diag::{Diagnostic, SourceId};
use stave_flow::shape::{FLOW, FormatShape, Holds};
use stave_flow::{CheckOptions, load, parse, schema, yaml};
use stave_operations::{Form, STEP_KINDS, operations};

#[expect(clippy::disallowed_methods, reason = "a test reads the files it is about")]
fn published(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(path);
    std::fs::read_to_string(&path).unwrap_or_default()
}

fn printed(schema: &Value) -> String {
    format!("{}\n", stave_canon::pretty_insertion_utf8(schema).trim_end())
}

/// With `STAVE_BLESS` set the files are written instead.
#[expect(clippy::disallowed_methods, reason = "a test reads and writes the files it is about")]
fn compare(path: &str, schema: &Value) {
    let text = printed(schema);
    if std::env::var_os("STAVE_BLESS").is_some() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        return;
    }
    assert_eq!(published(path), text, "schemas/{path} is out of date; run with STAVE_BLESS=1");
}

#[test]
fn the_committed_files_are_what_is_generated() {
    compare("flow.schema.json", &schema::flow());
    for operation in operations() {
        compare(&format!("ops/{}.json", operation.name), &schema::operation(operation));
    }
    for step in STEP_KINDS.iter().filter(|step| step.form == Form::Workflow) {
        compare(&format!("steps/{}.json", step.name), &schema::operation(step));
    }
}

fn validator() -> Validator {
    jsonschema::draft7::new(&schema::flow().to_serde()).unwrap()
}

#[test]
fn the_schemas_are_valid_themselves() {
    for text in std::iter::once(schema::flow()).chain(STEP_KINDS.iter().copied().map(schema::operation)) {
        assert!(jsonschema::draft7::meta::is_valid(&text.to_serde()), "{text}");
    }
}

#[test]
fn a_flow_without_errors_is_accepted() {
    let validator = validator();
    let mut accepted = 0;
    for text in crate::flows::committed() {
        let parsed = load(SourceId(0), &text, &CheckOptions::default());
        let Some(tree) = parsed.tree.filter(|_| !parsed.diagnostics.iter().any(Diagnostic::is_error)) else {
            continue;
        };
        let value = tree.to_value().to_serde();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{text}");
        accepted += 1;
    }
    assert!(accepted > 50, "{accepted}");
}

/// A flow in which every structure has every field, so that the parser meets each of them.
const FULL: &str = r#"
version: "1.1"
metadata: {name: full, description: d, author: a, created_at: "2026-01-01T00:00:00Z", modified_at: "2026-01-01T00:00:00Z", tags: [t]}
context: {requires: [session_id], optional: [locale], sensitivity: {locale: public}}
nodes:
  n:
    id: n
    type: transform
    inputs: [{name: i, type: string, schema: {type: string}, optional: true, description: d, sensitivity: public, accepts: private}]
    outputs: [{name: o, type: object, schema: {type: object}, optional: false, description: d, sensitivity: public, accepts: private}]
    error: {name: e, type: object, schema: {type: object}, optional: true, description: d, sensitivity: public}
    prompt:
      system: s
      template: t
      model: {provider: openai, name: m, endpoint: "https://example.com"}
      output_schema: {type: object}
      temperature: 0.5
      max_tokens: 10
      phase: review
      role: analyst
      template_id: analyst
      context_refs: ["file:docs/a.md"]
      priority: 5
      on_denied: fallback
      constraints: [short]
      token_budget: 1000
      schema_id: verdict
      output_requirements: {format: json}
      tools: [{name: t, description: d, parameters: {type: object}, maps_to: n, mcp: a/b}]
      fallback: {on: any, model: {provider: openai, name: m, endpoint: "https://example.com"}, static_response: "{}"}
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: x}}}
    runtime: {timeout_ms: 1, retries: 1, retry_backoff_ms: 1, requires_context: [locale], concurrency: 1, cache: {ttl_seconds: 1, key: k}}
    state: {scope: session, key: "{session_id}", ttl_seconds: 1, backend: memory, sensitivity: public}
    position: {x: 1, y: 2}
edges: [{from: _input.locale, to: n.i, condition: "True", else: true, transform: value}]
deployment:
  target: kserve
  kserve: {namespace: a, service_name: b, min_replicas: 1, max_replicas: 1, target_rps: 1, resources: {cpu: "1", memory: "1", gpu: "1"}}
  context: {locale: en}
runtime: {timeout_ms: 1, budget: {tokens: 1, cost_usd: 0.5, calls: 1, wall_ms: 1}}
tests:
  - name: t
    request: {session_id: s}
    recording: replies.yaml
    models: []
    http: []
    decisions: {n: approve}
    expect: {status: ok, output: {}, contains: {}, error: e, path: [n], skipped: [n], model_calls: 0, http_calls: 0, budget: {tokens: 1, cost_usd: 0.5, calls: 1, wall_ms: 1}}
"#;

fn faults(text: &str) -> Vec<String> {
    let found = parse(SourceId(0), text).diagnostics;
    let shape = found.iter().filter(|one| ["unknown-field", "missing-field"].contains(&one.code.0));
    shape.map(|one| format!("{}: {}", one.code, one.message)).collect()
}

/// Every structure of the full flow with the pointer to one example of it.
fn each(
    value: &Value,
    shape: &'static FormatShape,
    pointer: &str,
    visit: &mut impl FnMut(&'static FormatShape, &str),
) {
    visit(shape, pointer);
    for field in shape.fields {
        let here = format!("{pointer}/{}", field.name);
        let (inner, here) = match field.holds {
            Holds::One(inner) | Holds::Implementation(inner) => (inner, here),
            Holds::List(inner) => (inner, format!("{here}/0")),
            Holds::Map(inner) => (inner, format!("{here}/n")),
            _ => continue,
        };
        if value.pointer(&here).is_some() {
            each(value, inner, &here, visit);
        }
    }
}

fn at<'value>(value: &'value mut Value, pointer: &str) -> &'value mut stave_canon::Object {
    let mut here = value;
    for step in pointer.split('/').skip(1) {
        here = match here {
            Value::Object(object) => object.get_mut(step).unwrap(),
            Value::Array(items) => items.get_mut(step.parse::<usize>().unwrap()).unwrap(),
            other => unreachable!("{other} has no members"),
        };
    }
    here.as_object_mut().unwrap()
}

#[test]
fn the_table_of_shapes_and_the_parser_know_the_same_fields() {
    let full = yaml::read(SourceId(0), FULL).root.unwrap().to_value();
    assert_eq!(faults(FULL), [""; 0]);
    assert!(validator().is_valid(&full.to_serde()));
    let mut shapes = 0;
    each(&full, &FLOW, "", &mut |shape, pointer| {
        shapes += 1;
        let mut names: Vec<String> = at(&mut full.clone(), pointer).keys().cloned().collect();
        let mut known: Vec<String> = shape.fields.iter().map(|field| field.name.to_owned()).collect();
        names.sort();
        known.sort();
        assert_eq!(names, known, "{pointer}: the full flow shows every field of the table");
        for field in shape.fields {
            let mut less = full.clone();
            at(&mut less, pointer).shift_remove(field.name);
            let missing = faults(&less.to_string()).iter().any(|fault| fault.starts_with("missing-field"));
            assert_eq!(missing, field.required, "{pointer}/{}", field.name);
            assert_eq!(!validator().is_valid(&less.to_serde()), field.required, "{pointer}/{}", field.name);
        }
        let mut more = full.clone();
        at(&mut more, pointer).insert("no_such_field".into(), Value::Null);
        assert_eq!(faults(&more.to_string()).len(), 1, "{pointer}");
    });
    assert!(shapes >= 18, "{shapes}");
}

#[test]
fn arguments_are_judged_by_the_operation_that_has_them() {
    let validator = validator();
    let mut value = yaml::read(SourceId(0), FULL).root.unwrap().to_value();
    let spec = at(&mut value, "/nodes/n/transform/spec");
    spec.insert("op".into(), "http.get".into());
    assert!(!validator.is_valid(&value.to_serde()), "`http.get` needs an address");
    let spec = at(&mut value, "/nodes/n/transform/spec/args");
    spec.insert("url".into(), "https://example.com".into());
    assert!(validator.is_valid(&value.to_serde()));
}
