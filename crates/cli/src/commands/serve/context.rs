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

/// The sources that a document names. A field whose source gives nothing is left to the client.
pub(super) fn sources(project: &Project, document: &Document) -> Vec<(String, ContextSource)> {
    let hints = document.metadata.extra.get("deployment").and_then(|hints| hints.get("context"));
    let fields = hints.and_then(Value::as_object).into_iter().flatten();
    fields
        .filter_map(|(field, source)| {
            let text = |key: &str| source.get(key).and_then(Value::as_str);
            let source = if let Some(name) = text("env") {
                if looks_secret(name) && !project.settings.context_env.iter().any(|listed| listed == name) {
                    terminal::error(&format!(
                        "warning: `{field}` of `{}` is not taken from `{name}`, which looks like a secret; list it \
                         under `[context] env` in stave.toml if flows may have it",
                        document.flow.name
                    ));
                    return None;
                }
                ContextSource::Value(std::env::var(name).ok()?.into())
            } else if let Some(name) = text("header") {
                ContextSource::Header(name.to_ascii_lowercase())
            } else {
                ContextSource::Value(source.get("value")?.clone())
            };
            Some((field.clone(), source))
        })
        .collect()
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
