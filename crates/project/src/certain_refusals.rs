//! What every run of a flow is refused for under the settings of its project.
//!
//! Invariants: these findings are warnings of a run, which then refuses with its own exit code before the first step, and errors of
//! the checker. A compile raises only what governance denies: the project that runs its output has lists of its own.

use stave_diag::codes::project::UNLISTED_SECRET;
use stave_diag::codes::prompt::PROMPT_DENIED;
use stave_diag::codes::run::HOST_NOT_ALLOWED;
use stave_diag::{Diagnostic, Severity, Span};
use stave_flow::ProjectRule;
use stave_flow::model::{Flow, Prompt, Text};
use stave_prompt::governance::{AskedModel, FixedPart, FixedParts, PolicySet};
use stave_vocabulary::OnDenied;

/// Makes errors of the findings: no error route takes a refusal. Without a project file the lists of hosts and secrets are not
/// known yet.
pub fn raise(diagnostics: &mut [Diagnostic], has_project_file: bool) {
    for found in diagnostics {
        let is_of_lists = found.code == HOST_NOT_ALLOWED || found.code == UNLISTED_SECRET;
        if found.code == PROMPT_DENIED || (is_of_lists && has_project_file) {
            found.severity = Severity::Error;
        }
    }
}

/// Reports each constraint and reference without placeholders, and each model, that the policies deny. A node that says
/// itself who takes a denial is not refused.
#[derive(Debug)]
pub(crate) struct DeniedPrompts {
    pub(crate) policies: PolicySet,
}

impl ProjectRule for DeniedPrompts {
    fn check(&self, flow: &Flow) -> Vec<Diagnostic> {
        let prompts = flow.nodes.values().filter_map(|node| Some((node.id.as_str(), node.prompt.as_ref()?)));
        let refused = prompts
            .filter(|(_, prompt)| prompt.on_denied.as_ref().is_none_or(|word| word.value == OnDenied::Fail));
        refused.flat_map(|(id, prompt)| denied(id, prompt, &self.policies)).collect()
    }
}

fn denied(id: &str, prompt: &Prompt, policies: &PolicySet) -> Vec<Diagnostic> {
    let constraints = fixed(prompt.constraints.iter());
    let context_refs = fixed(prompt.context_refs.iter());
    let fallback = prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
    let models: Vec<(AskedModel<'_>, Span)> = prompt
        .model
        .iter()
        .chain(fallback)
        .filter_map(|model| model.provider.as_ref().zip(model.name.as_ref()))
        .map(|(provider, name)| {
            (AskedModel { provider: provider.as_str(), name: Some(name.as_str()) }, name.span)
        })
        .collect();
    let parts = FixedParts {
        constraints: constraints.iter().map(|text| text.as_str()).collect(),
        context_refs: context_refs.iter().map(|text| text.as_str()).collect(),
        models: models.iter().map(|(model, _)| *model).collect(),
    };
    let found = policies.always_denied(&parts).into_iter().filter_map(|(part, violation)| {
        let span = match part {
            FixedPart::Constraint(index) => constraints.get(index)?.span,
            FixedPart::ContextRef(index) => context_refs.get(index)?.span,
            FixedPart::Model(index) => models.get(index)?.1,
        };
        let message = format!("governance denies the prompt of node `{id}` in every run: {violation}");
        let help = "write it differently, or change the policies of the project";
        Some(Diagnostic::new(PROMPT_DENIED, span, message).severity(Severity::Warning).help(help))
    });
    found.collect()
}

/// The texts that are the same in every run.
fn fixed<'f>(texts: impl Iterator<Item = &'f Text>) -> Vec<&'f Text> {
    texts.filter(|text| FixedParts::is_fixed(text.as_str())).collect()
}
