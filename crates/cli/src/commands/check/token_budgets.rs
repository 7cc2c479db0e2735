//! The token budget of a prompt has room for the fixed parts of the prompt, and is not larger than what a run gives it. The
//! flow line counts no tokens, so the command does.
//!
//! Invariant: only texts that every run sends are counted, so a prompt that is reported fails in every run.

use stave_canon::{CountingIds, FixedClock, Timestamp, Value};
use stave_diag::codes::flow::EXCESS_TOKEN_BUDGET;
use stave_diag::codes::run::PROMPT_TOO_LARGE;
use stave_diag::{Diagnostic, Severity};
use stave_flow::Parsed;
use stave_flow::model::{Prompt, Text};
use stave_llm::prices::Prices;
use stave_llm::tokens;
use stave_project::services;
use stave_prompt::PromptIrBuilder;
use stave_prompt::compile::{Adapter, Parts, PromptPart, Provenance, TokenCounter, compile};

use crate::project::Project;

/// What a project says about all prompts.
#[derive(Debug)]
pub(super) struct PromptBudgetLimits {
    prompt_tokens: Option<u64>,
    /// Which models have room for how many tokens.
    prices: Prices,
    constraints: Vec<String>,
    /// Provider and name of the model that answers prompts without one.
    default_model: (Option<String>, Option<String>),
}

impl PromptBudgetLimits {
    pub(super) fn of(project: &Project) -> PromptBudgetLimits {
        let settings = &project.settings;
        let model = settings.default_model.as_ref();
        PromptBudgetLimits {
            prompt_tokens: settings.limits.prompt_tokens,
            prices: services::prices(project),
            constraints: settings.prompt.constraints.clone(),
            default_model: model
                .map(|model| (Some(model.provider.to_string()), Some(model.name.clone())))
                .unwrap_or_default(),
        }
    }
}

/// The findings about the budgets of a flow.
pub(super) fn findings(parsed: &Parsed, project: &PromptBudgetLimits) -> Vec<Diagnostic> {
    let Some(flow) = &parsed.flow else { return Vec::new() };
    let prompts = flow.nodes.values().filter_map(|node| node.prompt.as_ref());
    prompts.flat_map(|prompt| of_prompt(prompt, project)).collect()
}

fn of_prompt(prompt: &Prompt, project: &PromptBudgetLimits) -> Vec<Diagnostic> {
    let Some(budget) = prompt.token_budget else { return Vec::new() };
    let model = prompt.model.as_ref();
    let written = |text: Option<&str>| text.filter(|text| !text.contains("${")).map(str::to_owned);
    let (provider, name) = match model {
        Some(model) => (
            written(model.provider.as_ref().map(Text::as_str)),
            written(model.name.as_ref().map(Text::as_str)),
        ),
        None => project.default_model.clone(),
    };
    let mut found = Vec::new();
    let room = name.as_deref().and_then(|name| project.prices.context(name));
    let room = room.map(|room| room.saturating_sub(prompt.max_tokens.map_or(0, |tokens| tokens.value)));
    let limits = [
        (project.prompt_tokens, "`prompt_tokens` in `[limits]` of stave.toml allows"),
        (room, "the model has room for"),
    ];
    let tightest = limits.into_iter().filter_map(|(limit, what)| Some((limit?, what))).min();
    if let Some((limit, what)) = tightest.filter(|(limit, _)| budget.value > *limit) {
        let message = format!("the prompt may have {} tokens, and {what} {limit}", budget.value);
        found.push(
            Diagnostic::new(EXCESS_TOKEN_BUDGET, budget.span, message)
                .help(format!("write at most {limit}; a run uses the smaller number")),
        );
    }
    if let Some(name) = name
        && let Some(needed) =
            fixed_tokens(prompt, project, &provider.unwrap_or_default(), &name, budget.value)
    {
        let message =
            format!("the fixed parts of the prompt need {needed} tokens and its budget is {}", budget.value);
        found.push(
            Diagnostic::new(PROMPT_TOO_LARGE, budget.span, message)
                .severity(Severity::Warning)
                .help("raise `token_budget`, or shorten the texts; a run fails at this step"),
        );
    }
    found
}

/// How many tokens the literal texts, constraints and output schema of a prompt need, when its budget has fewer.
fn fixed_tokens(
    prompt: &Prompt,
    project: &PromptBudgetLimits,
    provider: &str,
    model: &str,
    budget: u64,
) -> Option<u64> {
    let system = prompt.system.as_ref().map(|text| literal(text.as_str())).unwrap_or_default();
    let template = prompt.template.as_ref().map(|text| literal(text.as_str())).unwrap_or_default();
    let mut builder = PromptIrBuilder::new("node", system.as_str()).set_token_budget(budget);
    let own = prompt.constraints.iter().map(Text::as_str).filter(|text| !text.contains("${"));
    for constraint in project.constraints.iter().map(String::as_str).chain(own) {
        builder = builder.add_constraint(constraint);
    }
    if let Some(schema) = &prompt.output_schema
        && let Value::Object(schema) = schema.to_value()
    {
        builder = builder.set_output_requirements(schema);
    }
    let clock = FixedClock(Timestamp::UNIX_EPOCH);
    let ir = builder.build(&CountingIds::new(), &clock).ok()?;
    let part = |name: &str, text: String| PromptPart::new(name, text, Provenance::Developer);
    let parts = Parts {
        instructions: Some(system)
            .filter(|text| !text.is_empty())
            .map(|text| part("system", text))
            .into_iter()
            .collect(),
        inputs: Some(template)
            .filter(|text| !text.is_empty())
            .map(|text| part("template", text))
            .into_iter()
            .collect(),
        provider: provider.to_owned(),
        adapter: Adapter::of(provider),
        ..Parts::default()
    };
    let count = |text: &str| tokens::count_text(model, text).tokens;
    let over = compile(&ir, &parts, &TokenCounter::new(&count)).err()?;
    Some(over.needed)
}

/// What a template says whatever its values are. Of one with statements, that is not known.
fn literal(template: &str) -> String {
    if template.contains("{%") {
        return String::new();
    }
    let mut text = String::new();
    let mut rest = template;
    while let Some(start) = ["{{", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
        let (before, behind) = rest.split_at(start);
        text.push_str(before);
        let end = if behind.starts_with("{{") { "}}" } else { "#}" };
        rest = behind.find(end).and_then(|at| behind.get(at + end.len()..)).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_comments_are_no_fixed_text() {
        assert_eq!(literal("Q: {{ q }}, {# why #}now"), "Q: , now");
        assert_eq!(literal("{% if q %}Q{% endif %}"), "");
        assert_eq!(literal("open {{ q"), "open ");
    }
}
