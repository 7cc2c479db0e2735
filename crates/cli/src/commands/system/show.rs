//! What a document or a bundle holds, at a glance.

use std::collections::BTreeMap;

use stave_canon::Value;
use stave_system::bundle::Bundle;
use stave_system::{SystemDocument, SystemNode, strip};

use crate::args::SystemShow;
use crate::exit::{Exit, Stop};
use crate::system_documents::{self as documents, Artefact};
use crate::terminal;

pub(super) fn show(arguments: &SystemShow) -> Result<Exit, Stop> {
    match documents::open(&arguments.file)? {
        Artefact::Document(document) => show_document(&document, arguments.json),
        Artefact::Bundle(bundle) => show_bundle(&bundle, arguments.json),
    }
    Ok(Exit::Fine)
}

fn show_document(document: &SystemDocument, json: bool) {
    let fingerprint = document.fingerprint();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &document.nodes {
        *kinds.entry(node.kind.word()).or_default() += 1;
    }
    if json {
        let nodes = document.nodes.iter().map(|node| {
            Value::from_iter([
                ("id", Value::from(strip(&node.id))),
                ("kind", node.kind.word().into()),
                ("name", strip(&node.name).into()),
                ("fingerprint", node.fingerprint().into()),
            ])
        });
        let shown = [
            ("schema_version", Value::from(document.version.schema_version())),
            ("format_version", document.version.format_version().into()),
            ("tenant_id", strip(&document.tenant_id).into()),
            ("repo_id", strip(&document.repo_id).into()),
            ("fingerprint", fingerprint.into()),
            ("kinds", kinds.into_iter().collect()),
            ("nodes", Value::Array(nodes.collect())),
        ];
        terminal::out(&Value::from_iter(shown).to_string());
        return;
    }
    let version = document.version;
    terminal::out(&format!("version      {} ({})", version.schema_version(), version.format_version()));
    terminal::out(&format!("tenant       {}", strip(&document.tenant_id)));
    terminal::out(&format!("repository   {}", strip(&document.repo_id)));
    terminal::out(&format!("fingerprint  {fingerprint}"));
    let counts: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    terminal::out(&format!("nodes        {} ({})", document.nodes.len(), counts.join(", ")));
    let mut nodes: Vec<&SystemNode> = document.nodes.iter().collect();
    nodes.sort_by_key(|node| (node.kind, strip(&node.id)));
    for node in nodes {
        let (kind, id, name) = (node.kind.word(), strip(&node.id), strip(&node.name));
        terminal::out(&format!("{kind:14} {id:22} {name}{}", touches(node)));
    }
}

/// What a node may touch, in a few words.
fn touches(node: &SystemNode) -> String {
    let Some(effects) = &node.effects else { return String::new() };
    let mut words = Vec::new();
    if effects.network {
        words.push("network".to_owned());
    }
    words.extend(effects.secrets.iter().map(|secret| format!("secret {secret}")));
    words.extend(effects.fs_read.iter().map(|path| format!("reads {path}")));
    words.extend(effects.fs_write.iter().map(|path| format!("writes {path}")));
    if words.is_empty() { String::new() } else { format!("  [{}]", words.join(", ")) }
}

fn show_bundle(bundle: &Bundle, json: bool) {
    let value = bundle.value();
    let member = |pointer: &str| value.pointer(pointer).cloned().unwrap_or_default();
    let items = |key: &str| value.get(key).and_then(Value::as_array).unwrap_or_default();
    let ids = |key: &str, id: &str| -> Vec<Value> {
        items(key).iter().filter_map(|item| item.get(id).cloned()).collect()
    };
    let shown: [(&str, Value); 11] = [
        ("schema_id", member("/schema_id")),
        ("run_id", member("/run_id")),
        ("tenant_id", member("/tenant_id")),
        ("repo_id", member("/repo_id")),
        ("fingerprint", bundle.fingerprint().into()),
        ("system_ir_ref", member("/system_ir_ref")),
        ("embeds_system_ir", value.get("system_ir").is_some_and(|inline| !inline.is_null()).into()),
        ("allow_network", member("/runtime_policy_envelope/allow_network")),
        ("referenced_ir_nodes", ids("referenced_ir_nodes", "id").into()),
        ("referenced_contracts", ids("referenced_contracts", "contract_id").into()),
        ("deployment_intents", ids("deployment_intents", "node_id").into()),
    ];
    if json {
        terminal::out(&Value::from_iter(shown).to_string());
        return;
    }
    let text = |pointer: &str| member(pointer).as_str().unwrap_or_default().to_owned();
    terminal::out(&format!("bundle       {}", text("/schema_id")));
    terminal::out(&format!("run          {}", text("/run_id")));
    terminal::out(&format!("tenant       {}", text("/tenant_id")));
    terminal::out(&format!("repository   {}", text("/repo_id")));
    terminal::out(&format!("fingerprint  {}", bundle.fingerprint()));
    terminal::out(&format!("document     {}", text("/system_ir_ref/fingerprint")));
    let network = if member("/runtime_policy_envelope/allow_network") == Value::Bool(true) {
        "allowed"
    } else {
        "forbidden"
    };
    terminal::out(&format!("network      {network}"));
    terminal::out(&format!(
        "holds        {} nodes, {} contracts, {} deployment intents",
        items("referenced_ir_nodes").len(),
        items("referenced_contracts").len(),
        items("deployment_intents").len()
    ));
    for node in items("referenced_ir_nodes") {
        let text = |key: &str| node.get(key).and_then(Value::as_str).unwrap_or_default();
        terminal::out(&format!("{:14} {:22} {}", text("kind"), text("id"), text("name")));
    }
}
