//! The settings of `[governance]` and `[prompt]`.

use stave_canon::{Number, Value};
use stave_diag::Diagnostic;
use stave_diag::codes::project as codes;
use stave_prompt::governance::{Mode, PolicySet};
use toml::Spanned;
use toml::de::DeValue;

use super::read::{Reader, Table};

/// What a project sets about policies, on top of its policy set.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct GovernanceSettings {
    pub(crate) mode: Option<Mode>,
    pub(crate) allow: Vec<String>,
    /// Policies as data, added to those of the set.
    pub(crate) policies: Vec<Value>,
}

/// What a project sets about prompts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PromptSettings {
    /// The plugins in their order; `None` means the built-in ones and every file under `plugins`.
    pub(crate) plugins: Option<Vec<String>>,
    pub(crate) plugin_seconds: Option<u64>,
    /// What every prompt of a flow has to keep to.
    pub(crate) constraints: Vec<String>,
}

impl Reader<'_> {
    pub(super) fn governance(&mut self, root: &Table<'_>) -> GovernanceSettings {
        let Some(table) = self.table(root, "governance") else { return GovernanceSettings::default() };
        self.known(table, "governance.", &["mode", "allow", "policies"]);
        let mode = match self.text(table, "mode").as_deref() {
            None => None,
            Some("strict") => Some(Mode::Strict),
            Some("specified") => Some(Mode::Specified),
            Some(_) => {
                self.bad_value(table, "mode", "\"strict\" or \"specified\"");
                None
            }
        };
        let allow = self.texts(table, "allow").unwrap_or_default();
        let policies = match table.get("policies").map(Spanned::get_ref) {
            None => Vec::new(),
            Some(DeValue::Array(items)) => items.iter().filter_map(|item| self.policy(item)).collect(),
            Some(_) => {
                self.bad_value(table, "policies", "a list of tables: [[governance.policies]]");
                Vec::new()
            }
        };
        GovernanceSettings { mode, allow, policies }
    }

    /// One policy, if it can be used.
    fn policy(&mut self, item: &Spanned<DeValue<'_>>) -> Option<Value> {
        let policy = value(item.get_ref());
        let set = Value::from_iter([("policies", Value::Array(vec![policy.clone()]))]);
        let Err(error) = PolicySet::from_value(&set) else { return Some(policy) };
        for fault in error.faults {
            let field = fault.pointer.as_str().trim_start_matches("/policies/0").trim_start_matches('/');
            let inner = item.get_ref().as_table().and_then(|table| table.get(field));
            let span = self.span(&inner.map_or_else(|| item.span(), Spanned::span));
            self.diagnostics.push(
                Diagnostic::new(codes::BAD_POLICY, span, fault.message)
                    .help("`stave explain bad-policy` shows a policy that can be used"),
            );
        }
        None
    }

    pub(super) fn prompt(&mut self, root: &Table<'_>) -> PromptSettings {
        let Some(table) = self.table(root, "prompt") else { return PromptSettings::default() };
        self.known(table, "prompt.", &["plugins", "plugin_seconds", "constraints"]);
        PromptSettings {
            plugins: self.texts(table, "plugins"),
            plugin_seconds: self.positive(table, "plugin_seconds"),
            constraints: self.texts(table, "constraints").unwrap_or_default(),
        }
    }
}

/// A TOML value as JSON; times as their text.
fn value(toml: &DeValue<'_>) -> Value {
    match toml {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or_else(|_| integer.as_str().into(), |number| Value::Number(Number::Int(number))),
        DeValue::Float(float) => {
            float.as_str().parse().map_or_else(|_| float.as_str().into(), |number: f64| number.into())
        }
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| value(item.get_ref())).collect()),
        DeValue::Table(table) => {
            table.iter().map(|(key, item)| (key.get_ref().to_string(), value(item.get_ref()))).collect()
        }
    }
}
