//! What project files name that their projects do not have.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use stave_diag::{Diagnostic, SourceId, Sources};
use stave_flow::CheckOptions;

use super::Checked;
use crate::exit::Stop;
use crate::files::{self, CheckedText};
use crate::project::{self, KnownNames};
use crate::source_kind::SourceKind;

/// The findings about the project files of these texts.
pub(super) fn unknown_names(subjects: &[Checked], sources: &mut Sources) -> Result<Vec<Diagnostic>, Stop> {
    let roots: BTreeSet<&PathBuf> = subjects.iter().filter_map(|subject| subject.project.as_ref()).collect();
    let mut found = Vec::new();
    for root in roots {
        let file = root.join(project::FILE);
        let CheckedText { text, broken_at } = files::read_source(&file)?;
        if broken_at.is_some() || !project::names_flows(&text) {
            continue;
        }
        let Some(known) = known_names(root)? else { continue };
        let source = sources.add(files::shown(&file).display().to_string(), text.as_str());
        found.extend(project::unknown_names(source, &text, &known));
    }
    Ok(found)
}

/// What the flows of a project have, also of those that are not checked now. Without flows, nothing is known.
fn known_names(root: &Path) -> Result<Option<KnownNames>, Stop> {
    let flows = Some(root.join("flows")).filter(|flows| flows.is_dir()).unwrap_or_else(|| root.to_path_buf());
    let mut known = KnownNames::default();
    // A folder without sources is a stop for a command, and here only nothing to compare with.
    let Ok(files) = files::expand(&[flows]) else { return Ok(None) };
    for file in files {
        if SourceKind::of(&file) == Some(SourceKind::Flow) {
            let text = files::read_source(&file)?.text;
            if let Some(flow) = stave_flow::load(SourceId(0), &text, &CheckOptions::default()).flow {
                known.add(&flow);
            }
        }
    }
    Ok(Some(known))
}
