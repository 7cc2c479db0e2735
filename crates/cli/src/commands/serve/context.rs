//! Where a deployment takes fields of the context from.
//!
//! Invariant: a variable of the environment that holds a secret does not become context, which goes into prompts,
//! replies and the journal, because a flow says so; only the project's own file can.

use stave_canon::Value;
use stave_exec::Document;
use stave_server::ContextSource;

use crate::project::Project;
use crate::terminal;

/// Parts of names that secrets have.
const SECRET_WORDS: [&str; 10] =
    ["key", "keys", "token", "tokens", "secret", "secrets", "password", "passwd", "credentials", "dsn"];

/// The names of addresses that have passwords in them.
const ADDRESSES: [&str; 3] = ["redis_url", "hopsworks_url", "database_url"];

/// The sources that a document names.
pub(super) fn sources(project: &Project, document: &Document) -> Vec<(String, ContextSource)> {
    let hints = document.metadata.extra.get("deployment").and_then(|hints| hints.get("context"));
    let fields = hints.and_then(Value::as_object).into_iter().flatten();
    let source = |field: &str, source: &Value| {
        let text = |key: &str| source.get(key).and_then(Value::as_str);
        if let Some(name) = text("env") {
            return variable(project, document, field, name);
        }
        match (text("header"), source.get("value")) {
            (Some(name), _) => ContextSource::Header(name.to_ascii_lowercase()),
            (None, Some(value)) => ContextSource::Value(value.clone()),
            (None, None) => ContextSource::Nothing,
        }
    };
    fields.map(|(field, hint)| (field.clone(), source(field, hint))).collect()
}

fn variable(project: &Project, document: &Document, field: &str, name: &str) -> ContextSource {
    if looks_secret(name) && !project.settings.context_env.iter().any(|listed| listed == name) {
        terminal::error(&format!(
            "warning: `{field}` of `{}` is not taken from `{name}`, which looks like a secret; list it under \
             `[context] env` in stave.toml if flows may have it",
            document.flow.name
        ));
        return ContextSource::Nothing;
    }
    std::env::var(name).map_or(ContextSource::Nothing, |value| ContextSource::Value(value.into()))
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ADDRESSES.contains(&name.as_str()) || name.split('_').any(|word| SECRET_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_others() {
        for name in [
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PASSWORD",
            "github_token",
            "REDIS_URL",
            "SENTRY_DSN",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["REGION", "KEYBOARD", "MONKEY_COUNT", "BASE_URL", ""] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
