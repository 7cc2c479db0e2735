//! The files and commits that prompts refer to are there. The flow line reads no files, so the command looks.

use std::path::Path;

use stave_diag::codes::run as codes;
use stave_diag::{Diagnostic, Severity};
use stave_flow::{CheckOptions, Parsed};
use stave_prompt::resolve::{self, Unavailable};
use stave_prompt::{ContextRef, FileSelection};

use crate::context::ListedContext;
use crate::exit::Stop;

const FILE_HELP: &str = "correct the path or add the file; a run fails at this step";
const DIFF_HELP: &str = "correct the name of the commit, or fetch it; a run fails at this step";

/// A finding for each `file:` or `diff:` reference without placeholders for which a run would find no text. A file that the project
/// does not list is reported by the check itself.
pub(super) fn missing(parsed: &Parsed, options: &CheckOptions, root: &Path) -> Result<Vec<Diagnostic>, Stop> {
    let Some((flow, lists)) = parsed.flow.as_ref().zip(options.allow.as_ref()) else { return Ok(Vec::new()) };
    let prompts = flow.nodes.values().filter_map(|node| node.prompt.as_ref());
    let written = prompts.flat_map(|prompt| prompt.context_refs.iter());
    let mut written = written.filter(|reference| !reference.as_str().contains("${")).peekable();
    if written.peek().is_none() {
        return Ok(Vec::new());
    }
    let context = ListedContext::new(root, &lists.context_files)?;
    let missing = written.filter_map(|reference| {
        let (reason, help) = match ContextRef::parse(reference.as_str()) {
            ContextRef::File(path) => match resolve::files(&context, &FileSelection::parse(path)) {
                Ok(texts) if !texts.is_empty() => return None,
                Ok(_) => (Unavailable::NoMatch, FILE_HELP),
                Err(Unavailable::Unlisted(_)) => return None,
                Err(reason) => (reason, FILE_HELP),
            },
            ContextRef::Diff(name) => (context.diff_fault(name)?, DIFF_HELP),
            _ => return None,
        };
        let message = format!("the prompt refers to `{}`: {reason}", reference.as_str());
        let mut found = Diagnostic::new(codes::CONTEXT_UNAVAILABLE, reference.span, message)
            .severity(Severity::Warning)
            .help(help);
        found.pointer = parsed.tree.as_ref().map(|tree| tree.pointer(reference.span));
        Some(found)
    });
    Ok(missing.collect())
}
