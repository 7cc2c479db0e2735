//! What a prompt says in every run is nothing that governance denies. The flow line knows no policies, so the command
//! judges.

use stave_canon::{CountingIds, FixedClock, Timestamp};
use stave_diag::Diagnostic;
use stave_diag::codes::prompt::PROMPT_DENIED;
use stave_flow::Parsed;
use stave_flow::model::{Prompt, Text};
use stave_prompt::PromptIrBuilder;
use stave_prompt::governance::{AskedModel, PolicyAction, PolicySet, PromptField, Violation};

/// A finding for each constraint and reference without placeholders, and for each model, that the policies deny.
pub(super) fn find(parsed: &Parsed, policies: &PolicySet) -> Vec<Diagnostic> {
    let prompts = parsed.flow.iter().flat_map(|flow| flow.nodes.values());
    let mut found: Vec<Diagnostic> = prompts
        .filter_map(|node| node.prompt.as_ref().map(|prompt| (node.id.as_str(), prompt)))
        .flat_map(|(id, prompt)| denied(id, prompt, policies))
        .collect();
    for diagnostic in &mut found {
        diagnostic.pointer = parsed.tree.as_ref().map(|tree| tree.pointer(diagnostic.primary));
    }
    found
}

fn denied(id: &str, prompt: &Prompt, policies: &PolicySet) -> Vec<Diagnostic> {
    let constraints = fixed(prompt.constraints.iter());
    let context_refs = fixed(prompt.context_refs.iter());
    let mut builder = PromptIrBuilder::new(id, id);
    for constraint in &constraints {
        builder = builder.add_constraint(constraint.as_str());
    }
    for reference in &context_refs {
        builder = builder.add_context_ref(reference.as_str());
    }
    // The prompt is judged and not kept, so its name and its time do not matter.
    let clock = FixedClock(Timestamp::UNIX_EPOCH);
    let Ok(ir) = builder.build(&CountingIds::new(), &clock) else { return Vec::new() };
    let mut found = Vec::new();
    let mut report = |span, violation: &Violation| {
        let message = format!("governance denies the prompt of node `{id}` in every run: {violation}");
        let help = "write it differently, or change the policies of the project";
        found.push(Diagnostic::new(PROMPT_DENIED, span, message).help(help));
    };
    let denies = |violation: &&Violation| violation.action == PolicyAction::Deny;
    for violation in policies.check(&ir).violations.iter().filter(denies) {
        let text = match violation.field {
            PromptField::Constraints(index) => constraints.get(index),
            PromptField::ContextRefs(index) => context_refs.get(index),
            _ => None,
        };
        if let Some(text) = text {
            report(text.span, violation);
        }
    }
    let fallback = prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
    for model in prompt.model.iter().chain(fallback) {
        let Some((provider, name)) = model.provider.as_ref().zip(model.name.as_ref()) else { continue };
        let asked = AskedModel { provider: provider.as_str(), name: Some(name.as_str()) };
        for violation in policies.check_model(asked).violations.iter().filter(denies) {
            report(name.span, violation);
        }
    }
    found
}

/// The texts that are the same in every run.
fn fixed<'f>(texts: impl Iterator<Item = &'f Text>) -> Vec<&'f Text> {
    texts.filter(|text| !text.as_str().contains("${")).collect()
}
