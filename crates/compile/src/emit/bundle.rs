//! `bundle`: the runtime bundle of each project's document, the specifications it refers to, and the run
//! manifest over them.

use std::collections::BTreeMap;

use stave_canon::{Value, pretty_sorted_utf8, sha256_hex};
use stave_project::admission::artefacts as admission;
use stave_project::exit::Stop;
use stave_system::bundle::{bundle_path, coordination_path, ir_path, orchestration_path};
use stave_system::manifest::{HashedFile, ReplayMode, RunManifest, manifest_path};
use stave_system::sign::{ArtefactKind, Claim, ENDING, Signature};

use super::exec;
use super::projection::{self, Projection};
use super::{Before, Emitter, Tree};
use crate::compilation::Compilation;

#[derive(Debug)]
pub(super) struct Bundle;

const FOLDERS: [(&str, &str); 4] = [
    (".akc/runtime/", ".runtime_bundle.json"),
    (".akc/agents/", ".coordination.json"),
    (".akc/orchestration/", ".orchestration.json"),
    (".akc/run/", ".manifest.json"),
];

impl Emitter for Bundle {
    fn word(&self) -> &'static str {
        "bundle"
    }

    fn roots(&self) -> &'static [&'static str] {
        &[".akc"]
    }

    /// A signature goes with what it signs, since it holds for those bytes only.
    fn owns(&self, path: &str) -> bool {
        let path = path.strip_suffix(ENDING).unwrap_or(path);
        FOLDERS.iter().any(|(folder, ending)| path.starts_with(folder) && path.ends_with(ending))
    }

    fn recognises(&self, path: &str, bytes: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        if path.ends_with(ENDING) {
            return Signature::from_text(text).is_ok();
        }
        Claim::of(text).is_some_and(|claim| claim.subject != ArtefactKind::SystemIr)
    }

    fn emit(&self, compilation: &Compilation, before: &Before<'_>, tree: &mut Tree) -> Result<(), Stop> {
        for projection in projection::project(compilation)? {
            projection.warn(tree);
            emit(&projection, before, tree)?;
        }
        Ok(())
    }
}

fn emit(projection: &Projection<'_>, before: &Before<'_>, tree: &mut Tree) -> Result<(), Stop> {
    let run_id = projection.scope.run_id.as_str();
    let bundled = projection.bundle()?;
    let pretty = |value: &Value| {
        let mut text = pretty_sorted_utf8(value);
        text.push('\n');
        text
    };
    let files = [
        (bundle_path(run_id), bundled.bundle.to_file_text()),
        (coordination_path(run_id), pretty(&bundled.specifications.coordination)),
        (orchestration_path(run_id), pretty(&bundled.specifications.orchestration)),
    ];
    let mut hashes: BTreeMap<String, String> =
        files.iter().map(|(path, text)| (path.clone(), sha256_hex(text))).collect();
    if let Some(snapshot) = tree.files.get(&projection.scope.snapshot_path) {
        hashes.insert(projection.scope.snapshot_path.clone(), sha256_hex(snapshot));
    }
    // Exec documents name no owner, so that the manifest is what vouches for them.
    let documents = projection.scope.flows.iter().map(|flow| exec::document_path(&flow.file_name));
    let exec_hashes = documents.filter_map(|path| {
        let text = std::str::from_utf8(tree.files.get(&path)?).ok()?;
        let hash = admission::exec_hash(text);
        Some((path, hash))
    });
    let exec_hashes = exec_hashes.collect();
    let bundle = bundle_path(run_id);
    let fingerprint = projection.document.fingerprint();
    let hashed = |path: String, sha256: String| HashedFile { path, sha256 };
    let manifest = RunManifest {
        run_id: run_id.to_owned(),
        tenant_id: projection.document.tenant_id.clone(),
        repo_id: projection.document.repo_id.clone(),
        ir_document: hashed(ir_path(run_id), fingerprint.clone()),
        ir_sha256: fingerprint,
        ir_format_version: projection.document.version.format_version().to_owned(),
        stable_intent_sha256: intent_hash(&bundled.intent.reference),
        replay_mode: ReplayMode::Live,
        input_hashes: projection.scope.input_hashes.clone(),
        runtime_bundle: hashes.get(&bundle).map(|hash| hashed(bundle.clone(), hash.clone())),
        output_hashes: hashes,
        exec_hashes,
    };
    for (path, text) in files.into_iter().chain([(manifest_path(run_id), manifest.to_file_text())]) {
        tree.add_signed(path, text, before);
    }
    Ok(())
}

fn intent_hash(reference: &Value) -> Option<String> {
    reference.get("stable_intent_sha256").and_then(Value::as_str).map(str::to_owned)
}
