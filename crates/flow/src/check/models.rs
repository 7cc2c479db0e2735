//! Models are named by a known provider that can be asked, and asked within sensible bounds.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Severity};
use stave_vocabulary::Provider;

use super::subject::{Subject, suggest};
use crate::model::Model;

/// The priority of a prompt that matters most.
const HIGHEST_PRIORITY: u64 = 10;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(prompt) = node.prompt.as_ref() else { continue };
        let fallback = prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
        diagnostics.extend(prompt.model.iter().chain(fallback).filter_map(|model| provider(subject, model)));
        if let Some(temperature) = &prompt.temperature
            && !(0.0..=2.0).contains(&temperature.as_f64())
        {
            let message = "the temperature must be between 0 and 2";
            diagnostics.push(Diagnostic::new(codes::OUT_OF_RANGE, temperature.span, message));
        }
        if let Some(priority) = &prompt.priority
            && priority.value > HIGHEST_PRIORITY
        {
            let message = format!("the priority must be between 1 and {HIGHEST_PRIORITY}");
            diagnostics.push(Diagnostic::new(codes::OUT_OF_RANGE, priority.span, message));
        }
    }
}

fn provider(subject: &Subject<'_>, model: &Model) -> Option<Diagnostic> {
    let provider = model.provider.as_ref()?;
    let word = provider.as_str();
    if let Some(known) = Provider::from_word(word) {
        return (!known.has_client()).then(|| {
            let message = format!("the provider `{word}` has no client, so a run that asks the model fails");
            Diagnostic::new(codes::PROVIDER_WITHOUT_CLIENT, provider.span, message).help(
                "use `openai` with the `endpoint` of a server that speaks chat completions, or another provider",
            )
        });
    }
    if subject.options.providers.iter().any(|configured| configured == word) {
        let message = format!("only this project knows the provider `{word}`");
        return Some(
            Diagnostic::new(codes::UNKNOWN_PROVIDER, provider.span, message).severity(Severity::Warning),
        );
    }
    let message = format!("there is no provider `{word}`");
    let diagnostic = Diagnostic::new(codes::UNKNOWN_PROVIDER, provider.span, message);
    let known = Provider::ALL.iter().filter(|provider| provider.has_client());
    let known: Vec<&str> = known.map(|provider| provider.word()).collect();
    Some(suggest(diagnostic, word, provider.span, &known, |listed| {
        format!("use {listed}; a compatible server is `openai` with an `endpoint`")
    }))
}
