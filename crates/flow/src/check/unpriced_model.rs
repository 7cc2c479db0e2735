//! A run with a cost budget asks only models that have a price: a call that nobody can count is refused.

use std::fmt;
use std::sync::Arc;

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;

/// What calls of models cost in a project.
#[derive(Clone)]
pub struct ModelCosts {
    /// Whether a model of this name has a price.
    pub is_priced: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// The model of prompts that name none.
    pub default_model: Option<String>,
    /// Whether every run of the project has a cost budget.
    pub limited: bool,
}

impl fmt::Debug for ModelCosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_priced: _, default_model, limited } = self;
        formatter
            .debug_struct("ModelCosts")
            .field("default_model", default_model)
            .field("limited", limited)
            .finish_non_exhaustive()
    }
}

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(costs) = &subject.options.costs else { return };
    let budget = subject.flow.runtime.as_ref().and_then(|runtime| runtime.budget.as_ref());
    let own = budget.and_then(|budget| budget.cost_usd.as_ref());
    if own.is_none() && !costs.limited {
        return;
    }
    for node in subject.nodes() {
        let Some(prompt) = node.prompt.as_ref() else { continue };
        let fallback = prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
        let default = costs.default_model.as_deref().filter(|_| prompt.model.is_none());
        let named = prompt.model.iter().chain(fallback).filter_map(|model| model.name.as_ref());
        let named = named.map(|name| (name.as_str(), name.span));
        for (name, span) in named.chain(default.map(|name| (name, prompt.key))) {
            if name.contains("${") || (costs.is_priced)(name) {
                continue;
            }
            let message = format!("the run has a cost budget, and the model `{name}` has no price");
            let mut found = Diagnostic::new(codes::UNPRICED_MODEL, span, message);
            if let Some(own) = own {
                found = found.label(own.span, "the budget");
            }
            diagnostics.push(found.help(format!(
                "the run refuses every call of the model; give its price under `[prices.\"{name}\"]` in stave.toml, or \
                 use a budget of tokens"
            )));
        }
    }
}
