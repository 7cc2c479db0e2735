//! `stave system`: system documents shown, validated, compared, drawn, bundled and migrated.

pub(crate) mod documents;
pub(crate) mod findings;
mod graph;

use std::collections::BTreeMap;

use stave_canon::Value;
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, BundleVersion, specifications};
use stave_system::migrate::migrate;
use stave_system::verify::{Concern, verify};
use stave_system::{Document, Node, NodeKind, strip};

use self::findings::Findings;
use crate::args::{self, SystemAction, SystemBundle, SystemDiff, SystemMigrate, SystemShow, SystemValidate};
use crate::exit::{Exit, Stop};
use crate::files;
use crate::terminal::{self, Terminal};

pub(crate) fn system(arguments: &args::System, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.action {
        SystemAction::Show(arguments) => show(arguments),
        SystemAction::Validate(arguments) => validate(arguments, terminal),
        SystemAction::Diff(arguments) => diff(arguments),
        SystemAction::Graph(arguments) => graph::graph(arguments),
        SystemAction::Bundle(arguments) => bundle(arguments),
        SystemAction::Migrate(arguments) => migrated(arguments),
    }
}

fn show(arguments: &SystemShow) -> Result<Exit, Stop> {
    let document = documents::load(&arguments.file)?;
    let fingerprint = document.fingerprint();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &document.nodes {
        *kinds.entry(node.kind.word()).or_default() += 1;
    }
    if arguments.json {
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
        return Ok(Exit::Fine);
    }
    let version = document.version;
    terminal::out(&format!("version      {} ({})", version.schema_version(), version.format_version()));
    terminal::out(&format!("tenant       {}", strip(&document.tenant_id)));
    terminal::out(&format!("repository   {}", strip(&document.repo_id)));
    terminal::out(&format!("fingerprint  {fingerprint}"));
    let counts: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    terminal::out(&format!("nodes        {} ({})", document.nodes.len(), counts.join(", ")));
    let mut nodes: Vec<&Node> = document.nodes.iter().collect();
    nodes.sort_by_key(|node| (node.kind, strip(&node.id)));
    for node in nodes {
        terminal::out(&format!(
            "{:14} {:22} {}{}",
            node.kind.word(),
            strip(&node.id),
            strip(&node.name),
            touches(node)
        ));
    }
    Ok(Exit::Fine)
}

/// What a node may touch, in a few words.
fn touches(node: &Node) -> String {
    let Some(effects) = &node.effects else { return String::new() };
    let mut words = Vec::new();
    if effects.network {
        words.push("network".to_owned());
    }
    words.extend(effects.secrets.iter().map(|secret| format!("secret {secret}")));
    words.extend(effects.fs_write.iter().map(|path| format!("writes {path}")));
    if words.is_empty() { String::new() } else { format!("  [{}]", words.join(", ")) }
}

fn validate(arguments: &SystemValidate, terminal: Terminal) -> Result<Exit, Stop> {
    let mut findings = Findings::default();
    for file in &arguments.files {
        let project = findings.project(file)?;
        let text = documents::read(file)?;
        let source = findings.sources.add(files::shown(file).display().to_string(), text.as_str());
        let document = match Document::from_text(&text) {
            Ok(document) => document,
            Err(error) => {
                findings.diagnostics.extend(error.diagnostics(source, &text));
                continue;
            }
        };
        let policies = findings::policies(&project, arguments.policies);
        for finding in verify(&document) {
            let level = match finding.rule.concern() {
                Concern::Contracts => policies.operational_structure,
                Concern::Graph => policies.graph_integrity,
            };
            let code = finding.rule.code();
            findings.add(
                level,
                stave_system::diagnostic(source, &text, code, &finding.pointer, &finding.message),
            );
        }
    }
    Ok(findings.print(arguments.json, terminal))
}

fn diff(arguments: &SystemDiff) -> Result<Exit, Stop> {
    let before = documents::load(&arguments.before)?;
    let after = documents::load(&arguments.after)?;
    compare(&before, &after, arguments.json)
}

/// Prints how two documents differ.
pub(crate) fn compare(before: &Document, after: &Document, json: bool) -> Result<Exit, Stop> {
    let difference =
        stave_system::diff(before, after).map_err(|mismatch| Stop::refused(mismatch.to_string()))?;
    let find =
        |document: &'_ Document, id: &str| document.nodes.iter().position(|node| strip(&node.id) == id);
    let details = |id: &str| -> Vec<String> {
        let (Some(left), Some(right)) = (find(before, id), find(after, id)) else { return Vec::new() };
        let members = stave_system::members(&before.nodes[left], &after.nodes[right]);
        members.iter().map(ToString::to_string).collect()
    };
    if json {
        let changed = difference
            .changed
            .iter()
            .map(|id| Value::from_iter([("id", Value::from(id.as_str())), ("members", details(id).into())]));
        let report = [
            ("added", Value::from(difference.added)),
            ("removed", difference.removed.into()),
            ("changed", Value::Array(changed.collect())),
        ];
        terminal::out(&Value::from_iter(report).to_string());
        return Ok(Exit::Fine);
    }
    let name = |document: &Document, id: &str| -> String {
        let node = find(document, id).map(|index| &document.nodes[index]);
        node.map_or_else(String::new, |node| format!("{} {}", node.kind.word(), strip(&node.name)))
    };
    for id in &difference.removed {
        terminal::out(&format!("- {id}  {}", name(before, id)));
    }
    for id in &difference.added {
        terminal::out(&format!("+ {id}  {}", name(after, id)));
    }
    for id in &difference.changed {
        terminal::out(&format!("~ {id}  {}", name(after, id)));
        for member in details(id) {
            terminal::out(&format!("    {member}"));
        }
    }
    let counts = (difference.added.len(), difference.removed.len(), difference.changed.len());
    terminal::error(&format!("{} added, {} removed, {} changed", counts.0, counts.1, counts.2));
    Ok(Exit::Fine)
}

fn bundle(arguments: &SystemBundle) -> Result<Exit, Stop> {
    let document = documents::load(&arguments.file)?;
    let version = BundleVersion::of(arguments.schema_version).ok_or_else(|| {
        Stop::invalid(format!("there is no bundle schema version {}", arguments.schema_version))
            .help("give 1, 2, 3 or 4")
    })?;
    let specifications = specifications(&arguments.run_id, &document);
    let intent = document.nodes.iter().any(|node| node.kind == NodeKind::Intent);
    let intent = intent.then(|| stave_lower::system_intent(&document));
    let bundle = Bundle::emit(BundleSource {
        run_id: &arguments.run_id,
        document: &document,
        intent: intent.as_ref(),
        orchestration: &specifications.orchestration,
        coordination: &specifications.coordination,
        delivery_plan: None,
        options: BundleOptions {
            version,
            embed_system_ir: arguments.embed_system_ir,
            embed_coordination_spec: true,
            strict_alignment: arguments.strict_alignment,
            deploy_targets_from_ir_only: arguments.deploy_targets_from_ir_only,
        },
    })
    .map_err(|error| Stop::invalid(error.to_string()))?;
    let text = bundle.to_file_text();
    match &arguments.out {
        Some(path) => {
            files::write_atomic(path, &text)?;
            terminal::error(&format!("wrote {}", path.display()));
        }
        None => terminal::out(text.trim_end()),
    }
    Ok(Exit::Fine)
}

fn migrated(arguments: &SystemMigrate) -> Result<Exit, Stop> {
    let document = documents::load(&arguments.file)?;
    let migration = migrate(&document);
    if let Some(path) = &arguments.out {
        let mut text = migration.document.to_file_text();
        text.push('\n');
        files::write_atomic(path, &text)?;
    }
    if arguments.json {
        let pairs =
            |pointer: String, message: String| Value::from_iter([("pointer", pointer), ("message", message)]);
        let changes =
            migration.changes.iter().map(|change| pairs(change.pointer.to_string(), change.what.clone()));
        let open = migration.open.iter().map(|finding| {
            let mut row = pairs(finding.pointer.to_string(), finding.message.clone());
            if let Some(row) = row.as_object_mut() {
                row.insert("code".into(), finding.rule.code().0.into());
            }
            row
        });
        let report = [
            ("fingerprint_before", Value::from(migration.fingerprint_before.as_str())),
            ("fingerprint_after", migration.fingerprint_after.as_str().into()),
            ("changes", Value::Array(changes.collect())),
            ("open", Value::Array(open.collect())),
            ("written", arguments.out.as_ref().map(|path| path.display().to_string()).into()),
        ];
        terminal::out(&Value::from_iter(report).to_string());
        return Ok(Exit::Fine);
    }
    for change in &migration.changes {
        terminal::out(&format!("{}: {}", change.pointer, change.what));
    }
    for finding in &migration.open {
        terminal::out(&format!(
            "{}: left to you: {} [{}]",
            finding.pointer,
            finding.message,
            finding.rule.code()
        ));
    }
    terminal::error(&format!("{} -> {}", migration.fingerprint_before, migration.fingerprint_after));
    match &arguments.out {
        Some(path) => terminal::error(&format!("wrote {}", path.display())),
        None => terminal::error("nothing was written; give --out FILE to keep the result"),
    }
    Ok(Exit::Fine)
}
