//! `stave exec show`: what a document runs, in what order, under which policy.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use stave_canon::{Object, Value};
use stave_exec::diff::edge_name;
use stave_exec::spacing::{self, RetrySpacing};
use stave_exec::{Document, manifest};

use crate::args::exec::Show;
use crate::exec_document;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::terminal::{self, Terminal};

pub(super) fn show(arguments: &Show, terminal: Terminal) -> Result<Exit, Stop> {
    if let Some(entries) = manifest(arguments)? {
        show_manifest(&entries, arguments.json);
        return Ok(Exit::Fine);
    }
    let Some(document) = exec_document::load(&arguments.file, terminal, arguments.json)? else {
        return Ok(Exit::Invalid);
    };
    if arguments.json {
        terminal::out(&summary(&document).to_string());
        return Ok(Exit::Fine);
    }
    terminal::out(&format!("flow        {} (version {})", document.flow.name, document.version));
    terminal::out(&format!("timeout     {}", milliseconds(document.flow.timeout_ms)));
    terminal::out(&format!("policy      {}", document.constants.policy_ref));
    let inputs: Vec<String> = inputs(&document);
    terminal::out(&format!(
        "inputs      {}",
        if inputs.is_empty() { "none".to_owned() } else { inputs.join(", ") }
    ));
    terminal::out(&format!("source      {}", document.metadata.source_file));
    terminal::out(&format!("generated   {}", document.metadata.generated_at));
    terminal::out(&format!("fingerprint {}\n", document.fingerprint()));
    terminal::out(&nodes(&document));
    terminal::out("");
    for edge in &document.graph.edges {
        terminal::out(&format!("  {}", edge_name(edge)));
    }
    Ok(Exit::Fine)
}

/// The entries of a manifest, when the file is one.
fn manifest(arguments: &Show) -> Result<Option<Vec<manifest::ManifestEntry>>, Stop> {
    let bytes = files::read_bytes(&arguments.file)?;
    let Ok(Value::Array(entries)) = stave_canon::parse_untrusted_bytes(&bytes) else { return Ok(None) };
    let read: Option<Vec<manifest::ManifestEntry>> =
        entries.iter().map(manifest::ManifestEntry::read).collect();
    read.map(Some).ok_or_else(|| Stop::invalid(format!("{} is not a manifest", arguments.file.display())))
}

fn show_manifest(entries: &[manifest::ManifestEntry], json: bool) {
    if json {
        let flows = entries.iter().map(manifest::ManifestEntry::to_value).collect();
        terminal::out(&Value::from_iter([("flows", Value::Array(flows))]).to_string());
        return;
    }
    let mut table = plain_table(&["flow", "policy", "steps", "document"]);
    for entry in entries {
        table.add_row([&entry.name, &entry.policy_ref, &entry.step_kinds.join(", "), &entry.ir_path]);
    }
    terminal::out(&table.to_string());
}

fn nodes(document: &Document) -> String {
    let mut table = plain_table(&["node", "type", "timeout", "retries", "from"]);
    for node in &document.graph.nodes {
        let retries = match node.retry.max {
            0 => "-".to_owned(),
            max => match spacing::read(&node.extra) {
                Ok(RetrySpacing::ExponentialJitter) => {
                    format!("{max}, up to {} ms apart, doubling", node.retry.backoff_ms)
                }
                _ => format!("{max}, {} ms apart", node.retry.backoff_ms),
            },
        };
        let line = node.extra.get("origin").and_then(|origin| origin.get("line")).and_then(Value::as_i64);
        let line = line.map_or_else(String::new, |line| format!("line {line}"));
        table.add_row([&node.id, &node.kind, &milliseconds(node.timeout_ms), &retries, &line]);
    }
    table.to_string()
}

fn plain_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    table
}

fn milliseconds(limit: u32) -> String {
    if limit == 0 { "-".to_owned() } else { format!("{limit} ms") }
}

/// The names of the inputs, whether the document holds a JSON Schema or names with type texts.
fn inputs(document: &Document) -> Vec<String> {
    match document.inputs_schema.get("properties") {
        Some(Value::Object(properties)) => properties.keys().cloned().collect(),
        _ => document.inputs_schema.keys().cloned().collect(),
    }
}

fn summary(document: &Document) -> Value {
    let nodes = document.graph.nodes.iter().map(|node| {
        Value::from_iter([
            ("id", Value::from(node.id.as_str())),
            ("type", node.kind.as_str().into()),
            ("timeout_ms", node.timeout_ms.into()),
            ("retry", Value::from_iter([("max", node.retry.max), ("backoff_ms", node.retry.backoff_ms)])),
            ("origin", node.extra.get("origin").cloned().unwrap_or_default()),
        ])
    });
    let edges = document.graph.edges.iter().map(|edge| {
        let mut shown = Object::new();
        shown.insert("from".into(), edge.from.as_str().into());
        shown.insert("to".into(), edge.to.as_str().into());
        shown.insert("on".into(), edge.on.word().into());
        for key in ["case", "from_port", "to_port", "condition", "else"] {
            if let Some(value) = edge.extra.get(key) {
                shown.insert(key.to_owned(), value.clone());
            }
        }
        Value::Object(shown)
    });
    Value::from_iter([
        ("name", Value::from(document.flow.name.as_str())),
        ("version", document.version.as_str().into()),
        ("timeout_ms", document.flow.timeout_ms.into()),
        ("policyRef", document.constants.policy_ref.as_str().into()),
        ("inputs", inputs(document).into()),
        ("source_file", document.metadata.source_file.as_str().into()),
        ("generated_at", document.metadata.generated_at.as_str().into()),
        ("fingerprint", document.fingerprint().into()),
        ("step_kinds", document.step_kinds().into()),
        ("nodes", Value::Array(nodes.collect())),
        ("edges", Value::Array(edges.collect())),
    ])
}
