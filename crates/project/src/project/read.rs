//! `stave.toml`, with a diagnostic for everything in it that cannot be meant.

use std::ops::Range;

use stave_canon::Pointer;
use stave_diag::codes::project as codes;
use stave_diag::{Diagnostic, Fix, SourceId, Span, did_you_mean};
use stave_lower::DefaultModel;
use stave_shape::{Fault, FaultKind, ValueNode};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Settings;
use super::file::{DefaultModelTable, ProjectFile};
use super::listed_host::ListedHost;
use super::toml_node::TomlNode;

/// The rules of values that have a code of their own.
pub(super) const BAD_POLICY: &str = "policy";
pub(super) const PASSWORD: &str = "password";

/// Reads a project file. Settings that are wrong are reported and left at their defaults.
pub fn read(source: SourceId, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Settings {
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let range = error.span().unwrap_or(0..0);
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            diagnostics.push(Diagnostic::new(codes::BAD_PROJECT_FILE, span(source, &range), message));
            return Settings::default();
        }
    };
    let root = Spanned::new(table.span(), DeValue::Table(table.into_inner()));
    let node = TomlNode(&root);
    let mut secrets = Vec::new();
    find_secrets(node, "", &mut secrets);
    // Values that are listed there are no secrets, as the project says.
    secrets.retain(|(name, _)| name != "gate.allow");
    diagnostics.extend(secrets.iter().map(|(name, range)| secret(span(source, range), name)));
    let (file, faults) = stave_shape::read_leniently::<ProjectFile>(node);
    let is_new = |fault: &&Fault| !secrets.iter().any(|(_, range)| fault.span.as_ref() == Some(range));
    diagnostics.extend(faults.iter().filter(is_new).map(|fault| diagnostic(source, fault)));
    Settings::of(file.unwrap_or_default())
}

impl Settings {
    fn of(file: ProjectFile) -> Settings {
        let model = |table: DefaultModelTable| DefaultModel {
            provider: table.provider,
            name: table.name,
            endpoint: table.endpoint,
        };
        Settings {
            tenant: file.project.tenant,
            repo: file.project.repo,
            policy: file.project.policy,
            http_allow: file.http.allow.map(ListedHost::texts),
            secrets: file.secrets.settings(file.context),
            model_hosts: ListedHost::texts(file.models.hosts),
            default_model: file.models.default.map(model),
            digest_model: file.models.digest.map(model),
            stores: file.state.settings(file.hopsworks, file.features),
            mcp: file.mcp.into_iter().filter_map(|(name, server)| Some((name, server.server()?))).collect(),
            replay: file.recordings.replay,
            bundle: file.runtime.bundle,
            step_kinds: file.runtime.step_kinds,
            limits: file.limits,
            budget: file.budget.object(),
            journal: file.journal,
            engine: file.engine.settings(),
            prices: file.prices,
            restricted: file.accepts.restricted.clone(),
            gate: file.gate.settings(&file.labels.provenance),
            accepts: file.accepts.scopes(file.labels),
            governance: file.governance.settings(),
            prompt: file.prompt,
            checks: file.checks.0,
            signing: file.signing.signing(),
            bundle_options: file.bundle.options(),
            deploy: file.deploy.options(),
            gateway: file.gateway.settings(),
            telemetry: file.telemetry,
            opcua: file.opcua.settings(),
        }
    }
}

/// What is said about a fault of the file.
fn diagnostic(source: SourceId, fault: &Fault) -> Diagnostic {
    let span = span(source, fault.span.as_ref().unwrap_or(&(0..0)));
    let name = dotted(&fault.pointer);
    let key = last_key(&fault.pointer);
    match &fault.kind {
        FaultKind::UnknownKey { key, .. } if is_secret_name(key) => secret(span, &name),
        FaultKind::UnknownKey { key, known } => unknown_key(span, key, &name, known),
        FaultKind::MissingKey(missing) => {
            let message = format!("`{name}.{missing}` is missing");
            Diagnostic::new(codes::BAD_PROJECT_VALUE, span, message)
        }
        // TOML calls objects tables.
        FaultKind::WrongType { wanted, found } => {
            let word = |kind: &'static str| if kind == "an object" { "a table" } else { kind };
            let message = format!("`{key}` must be {}, not {}", word(wanted), word(found));
            Diagnostic::new(codes::BAD_PROJECT_VALUE, span, message)
        }
        FaultKind::Rule { rule: BAD_POLICY, message } => {
            Diagnostic::new(codes::BAD_POLICY, span, message.clone())
                .help("`stave explain bad-policy` shows a policy that can be used")
        }
        FaultKind::Rule { rule: PASSWORD, message } => {
            let help = "set the address in the environment, and write `url = \"${secrets.NAME}\"`";
            Diagnostic::new(codes::SECRET_IN_PROJECT_FILE, span, format!("`{key}` {message}")).help(help)
        }
        kind => Diagnostic::new(codes::BAD_PROJECT_VALUE, span, format!("`{key}` {kind}")),
    }
}

fn unknown_key(span: Span, key: &str, name: &str, known: &[&'static str]) -> Diagnostic {
    let message = format!("`{name}` is not a setting");
    let diagnostic = Diagnostic::new(codes::UNKNOWN_PROJECT_KEY, span, message);
    match did_you_mean(key, known.iter().copied()) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")).fix(Fix::replace(
            format!("rename `{key}` to `{near}`"),
            span,
            near,
        )),
        None => diagnostic.help(format!("the settings here are {}", known.join(", "))),
    }
}

/// A pointer as TOML writes the way to a key, with items by their number: `gateway.models.a.targets[1]`.
fn dotted(pointer: &Pointer) -> String {
    let mut name = String::new();
    for step in pointer.as_str().split('/').skip(1) {
        if is_item(step) {
            name.push_str(&format!("[{step}]"));
        } else {
            name.push_str(if name.is_empty() { "" } else { "." });
            name.push_str(&step.replace("~1", "/").replace("~0", "~"));
        }
    }
    name
}

/// The last key of the way, with the number of an item: `targets[1]`.
fn last_key(pointer: &Pointer) -> String {
    let mut steps = pointer.as_str().rsplit('/').peekable();
    let mut items = String::new();
    while let Some(step) = steps.next_if(|step| is_item(step)) {
        items.insert_str(0, &format!("[{step}]"));
    }
    let key = steps.next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    format!("{key}{items}")
}

fn is_item(step: &str) -> bool {
    !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit())
}

fn span(source: SourceId, range: &Range<usize>) -> Span {
    Span::new(source, range.start, range.end)
}

fn secret(span: Span, name: &str) -> Diagnostic {
    let help = "set it in the environment, for example as OPENAI_API_KEY";
    Diagnostic::new(codes::SECRET_IN_PROJECT_FILE, span, format!("`{name}` looks like a secret")).help(help)
}

/// Finds values in the form of well-known keys, each with its setting and its place.
fn find_secrets(node: TomlNode<'_>, name: &str, found: &mut Vec<(String, Range<usize>)>) {
    node.members(|key, member| {
        let name = if name.is_empty() { key.text.to_owned() } else { format!("{name}.{}", key.text) };
        match member.text() {
            Some(text) if is_secret_text(text) => found.extend(key.span.map(|span| (name, span))),
            _ => find_secrets(member, &name, found),
        }
    });
    node.items(|item| match item.text() {
        Some(text) if is_secret_text(text) => found.extend(item.span().map(|span| (name.to_owned(), span))),
        _ => find_secrets(item, name, found),
    });
}

/// Whether an unknown key is probably a secret in the file, which is reported as such.
fn is_secret_name(name: &str) -> bool {
    ["api_key", "apikey", "secret", "password", "token"].contains(&name.to_ascii_lowercase().as_str())
}

fn is_secret_text(text: &str) -> bool {
    text.len() >= 20 && ["sk-", "ghp_", "xoxb-", "AKIA"].iter().any(|prefix| text.starts_with(prefix))
}
