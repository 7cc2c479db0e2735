//! `system`: the document of each project, and the snapshot of what it knows.

use stave_canon::pretty_sorted_utf8;
use stave_system::bundle::ir_path;
use stave_system::knowledge::SNAPSHOT_PATH;
use stave_system::sign::{Claim, Subject};

use super::projection;
use super::{Before, Emitter, Tree};
use crate::commands::compile::compilation::Compilation;
use crate::exit::Stop;

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
        path == SNAPSHOT_PATH || path.strip_prefix(".akc/ir/").is_some_and(|name| name.ends_with(".json"))
    }

    fn recognises(&self, _: &str, bytes: &[u8]) -> bool {
        let claim = std::str::from_utf8(bytes).ok().and_then(Claim::of);
        claim.is_some_and(|claim| claim.subject == Subject::SystemIr)
    }

    fn emit(&self, compilation: &Compilation, _: &Before<'_>, tree: &mut Tree) -> Result<(), Stop> {
        for projection in projection::project(compilation)? {
            let mut text = projection.document.to_file_text();
            text.push('\n');
            tree.add(ir_path(&projection.run_id), text);
            if let Some(knowledge) = &projection.knowledge
                && !tree.files.contains_key(SNAPSHOT_PATH)
            {
                let mut text = pretty_sorted_utf8(&knowledge.snapshot());
                text.push('\n');
                tree.add(SNAPSHOT_PATH, text);
            }
        }
        Ok(())
    }
}
