//! A prompt's system text is the same for every request, so that providers can keep it. Every prompt is
//! planned for the provider's cache, so the rule has no exception.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::{Subject, listed};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(system) = node.prompt.as_ref().and_then(|prompt| prompt.system.as_ref()) else { continue };
        let checked = subject.templates(node).iter().find(|(text, _)| std::ptr::eq(*text, system));
        let Some(paths) = checked.map(|(_, found)| &found.paths) else { continue };
        let Some(first) = paths.first() else { continue };
        let mut names: Vec<String> = paths.iter().map(|used| used.path.join(".")).collect();
        names.dedup();
        let message = format!(
            "the system text of node `{}` changes with {}, so no provider can keep it between requests",
            node.id.value,
            listed(names.iter().map(String::as_str))
        );
        diagnostics.push(
            Diagnostic::new(codes::VOLATILE_SYSTEM_TEXT, first.span, message)
                .help("move what changes into `template`, which comes behind the part that is kept"),
        );
    }
}
