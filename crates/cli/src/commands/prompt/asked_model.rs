//! Which model a prompt is for: the one that the command names, the one that the prompt records, or the project's.

use stave_canon::Value;
use stave_diag::did_you_mean;
use stave_llm::Provider;
use stave_lower::DefaultModel;
use stave_prompt::PromptIr;

use crate::exit::Stop;

/// A model of each provider whose tokens are those of its family.
const FAMILIES: [(&str, &str); 2] = [("openai", "gpt-4o"), ("ollama", "llama3")];

/// The model that answers. An endpoint is the project's to set.
pub(super) fn asked_model(
    named: Option<&str>,
    ir: &PromptIr,
    default: Option<&DefaultModel>,
) -> Result<Option<DefaultModel>, Stop> {
    let hint = ir.model_hint.as_deref().filter(|word| is_provider(word));
    let (provider, name) = match named {
        Some(named) => match provider_of(named)? {
            Some(both) => both,
            None => match hint.or(default.map(|model| model.provider.as_str())) {
                Some(provider) => (provider, named),
                None => return Ok(None),
            },
        },
        None => match hint.zip(recorded(ir)) {
            Some(both) => both,
            None => return Ok(default.cloned()),
        },
    };
    Ok(Some(of_project(provider, name, default)))
}

/// The model that a prompt is compiled for and whose tokens are counted. A prompt that suggests a provider is compiled
/// for that one, unless the command names another; a prompt without a suggestion is for the project's default model.
pub(super) fn counted_model(
    named: Option<&str>,
    ir: &PromptIr,
    default: Option<&DefaultModel>,
) -> Result<DefaultModel, Stop> {
    let hint = ir.model_hint.as_deref().filter(|hint| !hint.is_empty());
    let usual = hint.or(default.map(|model| model.provider.as_str())).unwrap_or(ir.provider());
    let (provider, name) = match named {
        Some(named) => provider_of(named)?.unwrap_or((usual, named)),
        None => {
            let of_default = default.filter(|model| model.provider == usual).map(|model| model.name.as_str());
            let family = FAMILIES.iter().find(|(provider, _)| *provider == usual).map(|(_, model)| *model);
            let recorded = hint.and(recorded(ir));
            (usual, recorded.or(of_default).or(family).unwrap_or("claude"))
        }
    };
    Ok(of_project(provider, name, default))
}

/// The parts of PROVIDER/NAME; nothing for a name alone. Names may hold slashes themselves, after the provider.
fn provider_of(named: &str) -> Result<Option<(&str, &str)>, Stop> {
    let Some((provider, name)) = named.split_once('/') else { return Ok(None) };
    if is_provider(provider) {
        return Ok(Some((provider, name)));
    }
    let words = || Provider::WORDS.into_iter();
    let help = match did_you_mean(provider, words()) {
        Some(known) => format!("did you mean `{known}/{name}`?"),
        None => format!(
            "providers are {}; a name with a slash follows its provider, as in `openai/{named}`",
            words().collect::<Vec<_>>().join(", ")
        ),
    };
    Err(Stop::invalid(format!("`--model {named}` names no known provider: `{provider}`")).help(help))
}

fn is_provider(word: &str) -> bool {
    word.parse::<Provider>().is_ok()
}

/// The model that a prompt records in its metadata.
fn recorded(ir: &PromptIr) -> Option<&str> {
    ir.metadata.get("model").and_then(Value::as_str)
}

fn of_project(provider: &str, name: &str, default: Option<&DefaultModel>) -> DefaultModel {
    let endpoint =
        default.filter(|model| model.provider == provider).and_then(|model| model.endpoint.clone());
    DefaultModel { provider: provider.to_owned(), name: name.to_owned(), endpoint }
}

#[cfg(test)]
mod tests {
    use stave_canon::{CountingIds, FixedClock, Timestamp};
    use stave_prompt::PromptIrBuilder;

    use super::*;

    fn prompt() -> PromptIr {
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        PromptIrBuilder::new("writer", "Write").build(&CountingIds::new(), &clock).unwrap()
    }

    #[test]
    fn an_unknown_provider_is_an_error_and_names_may_hold_slashes() {
        let default =
            DefaultModel { provider: "openai".to_owned(), name: "gpt-4o-mini".to_owned(), endpoint: None };
        for named in ["nosuch/model", "opnai/gpt-4o"] {
            assert!(asked_model(Some(named), &prompt(), Some(&default)).is_err(), "{named}");
            assert!(counted_model(Some(named), &prompt(), Some(&default)).is_err(), "{named}");
        }
        let slashed = asked_model(Some("openai/meta/llama-3"), &prompt(), None).ok().flatten().unwrap();
        assert_eq!((slashed.provider.as_str(), slashed.name.as_str()), ("openai", "meta/llama-3"));
    }

    #[test]
    fn a_prompt_without_a_suggestion_is_for_the_project_s_model() {
        let default =
            DefaultModel { provider: "openai".to_owned(), name: "gpt-4o-mini".to_owned(), endpoint: None };
        let model = counted_model(None, &prompt(), Some(&default)).ok().unwrap();
        assert_eq!((model.provider.as_str(), model.name.as_str()), ("openai", "gpt-4o-mini"));
        let mut suggests = prompt();
        suggests.model_hint = Some("anthropic".to_owned());
        let model = counted_model(None, &suggests, Some(&default)).ok().unwrap();
        assert_eq!(model.provider, "anthropic");
    }
}
