//! `stave.toml`, with a diagnostic for everything in it that cannot be meant.

use std::ops::Range;

use stave_diag::codes::project as codes;
use stave_diag::{Diagnostic, Fix, SourceId, Span, did_you_mean};
use stave_lower::DefaultModel;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{LimitSettings, Settings};

/// Reads a project file. Settings that are wrong are reported and left at their defaults.
pub(crate) fn read(source: SourceId, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Settings {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let range = error.span().unwrap_or(0..0);
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            diagnostics.push(Diagnostic::new(codes::BAD_PROJECT_FILE, span(source, &range), message));
            return Settings::default();
        }
    };
    let mut reader = Reader { source, text, diagnostics };
    reader.settings(table.get_ref())
}

pub(super) struct Reader<'r> {
    source: SourceId,
    text: &'r str,
    pub(super) diagnostics: &'r mut Vec<Diagnostic>,
}

/// A table's entries as the parser gives them.
pub(super) type Table<'t> = DeTable<'t>;

impl Reader<'_> {
    fn settings(&mut self, root: &Table<'_>) -> Settings {
        self.known(
            root,
            "",
            &[
                "project",
                "http",
                "models",
                "state",
                "features",
                "hopsworks",
                "mcp",
                "recordings",
                "limits",
                "budget",
                "journal",
                "engine",
                "prices",
                "accepts",
                "labels",
                "checks",
                "signing",
                "deploy",
                "governance",
                "prompt",
                "gateway",
                "telemetry",
                "opcua",
                "context",
                "secrets",
            ],
        );
        let mut settings = Settings::default();
        if let Some(project) = self.table(root, "project") {
            self.known(project, "project.", &["tenant", "repo", "policy"]);
            settings.tenant = self.text(project, "tenant");
            settings.repo = self.text(project, "repo");
            settings.policy = self.text(project, "policy");
        }
        settings.secrets = self.secrets(root);
        if let Some(http) = self.table(root, "http") {
            self.known(http, "http.", &["allow"]);
            settings.http_allow = self.hosts(http, "allow");
        }
        if let Some(models) = self.table(root, "models") {
            self.known(models, "models.", &["default", "hosts"]);
            settings.model_hosts = self.hosts(models, "hosts").unwrap_or_default();
            settings.default_model = self.table(models, "default").and_then(|model| self.model(model));
        }
        settings.stores = self.stores(root);
        settings.mcp = self.mcp(root);
        if let Some(recordings) = self.table(root, "recordings") {
            self.known(recordings, "recordings.", &["replay"]);
            settings.replay = self.text(recordings, "replay");
        }
        if let Some(limits) = self.table(root, "limits") {
            let known = [
                "parallel_steps",
                "run_seconds",
                "tool_rounds",
                "prompt_tokens",
                "state_bytes",
                "result_bytes",
                "log_bytes",
                "output_bytes",
            ];
            self.known(limits, "limits.", &known);
            settings.limits = LimitSettings {
                parallel_steps: self.positive(limits, "parallel_steps"),
                run_seconds: self.positive(limits, "run_seconds"),
                tool_rounds: self.positive(limits, "tool_rounds"),
                prompt_tokens: self.positive(limits, "prompt_tokens"),
                state_bytes: self.positive(limits, "state_bytes"),
                result_bytes: self.positive(limits, "result_bytes"),
                log_bytes: self.positive(limits, "log_bytes"),
                output_bytes: self.positive(limits, "output_bytes"),
            };
        }
        settings.budget = self.budget(root);
        settings.journal = self.journal(root);
        settings.engine = self.engine(root);
        settings.prices = self.prices(root);
        settings.accepts = self.accepts(root);
        self.labels(root, &mut settings.accepts);
        settings.restricted = self.restricted(root);
        settings.governance = self.governance(root);
        settings.prompt = self.prompt(root);
        settings.checks = self.checks(root);
        settings.signing = self.signing(root);
        settings.deploy = self.deploy(root);
        settings.gateway = self.gateway(root);
        settings.telemetry = self.telemetry(root);
        settings.opcua = self.opcua(root);
        settings
    }

    fn model(&mut self, model: &Table<'_>) -> Option<DefaultModel> {
        self.known(model, "models.default.", &["provider", "name", "endpoint"]);
        let provider = self.text(model, "provider");
        let name = self.text(model, "name");
        let endpoint = self.text(model, "endpoint");
        Some(DefaultModel { provider: provider?, name: name?, endpoint })
    }

    /// The price table has a reader of its own, in the crate that knows what prices are.
    fn prices(&mut self, root: &Table<'_>) -> Option<String> {
        self.table(root, "prices").map(|_| self.text.to_owned())
    }

    /// Reports keys that mean nothing. One that is named like a secret is told so instead.
    pub(super) fn known(&mut self, table: &Table<'_>, prefix: &str, known: &[&str]) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if looks_secret(name, value.get_ref()) {
                let span = self.span(&key.span());
                let message = format!("`{prefix}{name}` looks like a secret");
                let help = "set it in the environment, for example as OPENAI_API_KEY";
                self.diagnostics
                    .push(Diagnostic::new(codes::SECRET_IN_PROJECT_FILE, span, message).help(help));
                continue;
            }
            if known.contains(&name) {
                continue;
            }
            let span = self.span(&key.span());
            let message = format!("`{prefix}{name}` is not a setting");
            let diagnostic = Diagnostic::new(codes::UNKNOWN_PROJECT_KEY, span, message);
            self.diagnostics.push(match did_you_mean(name, known.iter().copied()) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")).fix(Fix::replace(
                    format!("rename `{name}` to `{near}`"),
                    span,
                    near,
                )),
                None => diagnostic.help(format!("the settings here are {}", known.join(", "))),
            });
        }
    }

    pub(super) fn table<'t>(&mut self, table: &'t Table<'_>, key: &str) -> Option<&'t Table<'t>> {
        match table.get(key)?.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => {
                self.bad_value(table, key, "a table");
                None
            }
        }
    }

    pub(super) fn text(&mut self, table: &Table<'_>, key: &str) -> Option<String> {
        match table.get(key)?.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.bad_value(table, key, "a text in quotes");
                None
            }
        }
    }

    pub(super) fn texts(&mut self, table: &Table<'_>, key: &str) -> Option<Vec<String>> {
        let DeValue::Array(items) = table.get(key)?.get_ref() else {
            self.bad_value(table, key, "a list of texts");
            return None;
        };
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            })
            .collect();
        if texts.is_none() {
            self.bad_value(table, key, "a list of texts");
        }
        texts
    }

    pub(super) fn flag(&mut self, table: &Table<'_>, key: &str) -> Option<bool> {
        match table.get(key)?.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            _ => {
                self.bad_value(table, key, "true or false");
                None
            }
        }
    }

    pub(super) fn positive(&mut self, table: &Table<'_>, key: &str) -> Option<u64> {
        let number = match table.get(key)?.get_ref() {
            DeValue::Integer(integer) => u64::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        };
        let positive = number.filter(|number| *number > 0);
        if positive.is_none() {
            self.bad_value(table, key, "a whole number above 0");
        }
        positive
    }

    pub(super) fn bad_value(&mut self, table: &Table<'_>, key: &str, wanted: &str) {
        let range = table.get(key).map_or(0..0, Spanned::span);
        let span = self.span(&range);
        let message = format!("`{key}` must be {wanted}");
        self.diagnostics.push(Diagnostic::new(codes::BAD_PROJECT_VALUE, span, message));
    }

    pub(super) fn span(&self, range: &Range<usize>) -> Span {
        span(self.source, range)
    }
}

fn span(source: SourceId, range: &Range<usize>) -> Span {
    Span::new(source, range.start, range.end)
}

/// Names that hold secrets, and values in the shape of well-known keys.
fn looks_secret(name: &str, value: &DeValue<'_>) -> bool {
    let name = name.to_ascii_lowercase();
    let named = ["api_key", "apikey", "secret", "password", "token"].contains(&name.as_str());
    let shaped = match value {
        DeValue::String(text) => {
            ["sk-", "ghp_", "xoxb-", "AKIA"].iter().any(|prefix| text.starts_with(prefix)) && text.len() >= 20
        }
        _ => false,
    };
    named || shaped
}
