//! Workflows, which are checked with the policy that stands beside them.

use std::path::Path;

use stave_diag::{Diagnostic, SourceId, Sources};
use stave_exec::wdl::{self, Dialect};

use crate::exit::Stop;
use crate::files;
use crate::source_kind;

/// The findings of a workflow, with the policy that stands beside it.
pub(super) fn diagnose(
    file: &Path,
    source: SourceId,
    text: &str,
    sources: &mut Sources,
) -> Result<Vec<Diagnostic>, Stop> {
    let checked = wdl::check_workflow(source, text, Dialect::Extended);
    let mut diagnostics = checked.diagnostics;
    let Some(workflow) = checked.value.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)) else {
        return Ok(diagnostics);
    };
    let paired = source_kind::paired_policies(file).into_iter().next();
    let policy = match &paired {
        Some(path) => {
            let text = files::read_text(path)?;
            let source = sources.add(path.display().to_string(), text.as_str());
            // The policy's own mistakes are found when it is checked itself.
            match wdl::check_policy(source, &text, Dialect::Extended).value {
                Some(policy) => Some((policy, source_kind::stem(path), path.display().to_string())),
                None => return Ok(diagnostics),
            }
        }
        None => None,
    };
    let settings = wdl::Settings {
        policy: policy.as_ref().map(|(policy, name, source_file)| wdl::PairedPolicy {
            policy,
            name,
            source_file,
        }),
        generated_at: "1970-01-01T00:00:00Z",
        source_file: &file.display().to_string(),
        dialect: Dialect::Extended,
    };
    diagnostics.extend(wdl::lower(&workflow, &settings).1);
    Ok(diagnostics)
}
