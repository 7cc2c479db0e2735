//! `exec`: one exec document per flow, the manifest over all of them, and the triggers of workflows.

use stave_canon::Value;
use stave_exec::manifest;
use stave_project::exit::Stop;

use super::{Before, Emitter, Tree};
use crate::compilation::{Compilation, CompiledFlow};

/// The folder of exec documents and the ending of their names.
pub(super) const FOLDER: &str = "flows/";
const ENDING: &str = ".ir.json";
const MANIFEST: &str = "manifest.json";
const TRIGGERS: &str = "triggers.yaml";

#[derive(Debug)]
pub(super) struct Exec;

impl Emitter for Exec {
    fn word(&self) -> &'static str {
        "exec"
    }

    fn roots(&self) -> &'static [&'static str] {
        &["flows", MANIFEST, TRIGGERS]
    }

    fn owns(&self, path: &str) -> bool {
        let is_document =
            path.strip_prefix(FOLDER).is_some_and(|name| name.ends_with(ENDING) && !name.contains('/'));
        is_document || path == MANIFEST || path == TRIGGERS
    }

    fn recognises(&self, path: &str, bytes: &[u8]) -> bool {
        let Some(value) = std::str::from_utf8(bytes).ok().and_then(|text| stave_canon::parse(text).ok())
        else {
            return false;
        };
        if path == MANIFEST {
            let entries = value.as_array().unwrap_or_default();
            return !entries.is_empty()
                && entries.iter().all(|entry| manifest::ManifestEntry::read(entry).is_some());
        }
        let has = |pointer: &str| value.pointer(pointer).is_some();
        path.ends_with(ENDING)
            && ["/version", "/flow/name", "/constants/policyRef", "/graph/nodes", "/metadata/source_file"]
                .into_iter()
                .all(has)
    }

    fn emit(&self, compilation: &Compilation, before: &Before<'_>, tree: &mut Tree) -> Result<(), Stop> {
        let mut entries = Vec::with_capacity(compilation.flows.len());
        for flow in &compilation.flows {
            let path = document_path(&flow.file_name);
            tree.add(path.clone(), text(flow, compilation, before(&path)));
            entries.push(entry(flow));
        }
        tree.add(MANIFEST, manifest::encode(&entries));
        let triggers: Vec<&Value> = compilation.flows.iter().flat_map(|flow| &flow.triggers).collect();
        if !triggers.is_empty() {
            tree.add(TRIGGERS, stave_exec::wdl::triggers_text(&triggers));
        }
        Ok(())
    }
}

/// The row of a flow in the manifest.
pub(super) fn entry(flow: &CompiledFlow) -> manifest::ManifestEntry {
    manifest::ManifestEntry { ir_path: document_path(&flow.file_name), ..flow.entry.clone() }
}

/// Where the document of a flow is written.
pub(super) fn document_path(file_name: &str) -> String {
    format!("{FOLDER}{file_name}{ENDING}")
}

/// The document's text. Its time is the one that was asked for; else the time in the file that is there,
/// when that file differs in nothing else; else the time of this compile.
fn text(flow: &CompiledFlow, compilation: &Compilation, before: Option<String>) -> String {
    if compilation.is_time_fixed {
        return flow.text_at(&compilation.generated_at);
    }
    let kept = before.and_then(|before| {
        let range = stave_canon::locate(&before, "/metadata/generated_at")?;
        let stamp = before.get(range.start + 1..range.end.checked_sub(1)?)?;
        Some(flow.text_at(stamp)).filter(|text| *text == before)
    });
    kept.unwrap_or_else(|| flow.text_at(&compilation.generated_at))
}
