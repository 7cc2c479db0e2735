//! `system`: the document of each project, and the snapshot of what it knows.

use stave_canon::pretty_sorted_utf8;
use stave_project::exit::Stop;
use stave_system::bundle::ir_path;
use stave_system::sign::{ArtefactKind, Claim, ENDING, Signature};

use super::projection;
use super::{Before, Emitter, Tree};
use crate::compilation::Compilation;

const SNAPSHOT_FOLDER: &str = ".akc/knowledge/";

#[derive(Debug)]
pub(super) struct System;

impl Emitter for System {
    fn word(&self) -> &'static str {
        "system"
    }

    fn roots(&self) -> &'static [&'static str] {
        &[".akc"]
    }

    fn owns(&self, path: &str) -> bool {
        let path = path.strip_suffix(ENDING).unwrap_or(path);
        let is_snapshot = path
            .strip_prefix(SNAPSHOT_FOLDER)
            .is_some_and(|name| name == "snapshot.json" || name.ends_with(".snapshot.json"));
        is_snapshot || path.strip_prefix(".akc/ir/").is_some_and(|name| name.ends_with(".json"))
    }

    fn recognises(&self, path: &str, bytes: &[u8]) -> bool {
        if path.ends_with(ENDING) {
            return std::str::from_utf8(bytes).is_ok_and(|text| Signature::from_text(text).is_ok());
        }
        let claim = std::str::from_utf8(bytes).ok().and_then(Claim::of);
        claim.is_some_and(|claim| claim.subject == ArtefactKind::SystemIr)
    }

    fn emit(&self, compilation: &Compilation, before: &Before<'_>, tree: &mut Tree) -> Result<(), Stop> {
        for projection in projection::project(compilation)? {
            projection.warn(tree);
            let mut text = projection.document.to_file_text();
            text.push('\n');
            tree.add_signed(ir_path(&projection.scope.run_id), text, before);
            if let Some(knowledge) = &projection.knowledge {
                let mut text = pretty_sorted_utf8(&knowledge.snapshot());
                text.push('\n');
                tree.add(projection.scope.snapshot_path.clone(), text);
            }
        }
        Ok(())
    }
}
