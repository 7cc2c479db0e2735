//! The settings of `[governance]` and `[prompt]`.

use stave_canon::Value;
use stave_prompt::governance::{MatchMode, PolicySet};
use stave_prompt::plugins::DEFAULT_TIMEOUT;
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

use super::plugin_setting::PluginSetting;
use super::read::BAD_POLICY;
use crate::prompt_plugins::DEFAULT_CONTEXT_REFS;

/// What a project sets about policies, on top of its policy set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GovernanceSettings {
    pub mode: Option<MatchMode>,
    pub allow: Vec<String>,
    /// Policies as data, added to those of the set.
    pub policies: Vec<Value>,
}

/// How prompts are prepared.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(not_null, name = "Prompt")]
pub struct PromptSettings {
    /// The plugins in their order; the built-in ones and every file under `plugins` when absent.
    pub plugins: Option<Vec<PluginSetting>>,
    /// The longest that a plugin may take which has no `timeout_ms` of its own, in seconds.
    #[shape(min = 1, unset = DEFAULT_TIMEOUT.as_secs())]
    pub plugin_seconds: Option<u64>,
    /// How many references a prompt may have before they become one digest.
    #[shape(min = 1, unset = DEFAULT_CONTEXT_REFS)]
    pub max_context_refs: Option<u64>,
    /// What every prompt has to keep to that a flow or `stave prompt ask` asks.
    #[shape(default)]
    pub constraints: Vec<String>,
    /// The files that `context_refs` of prompts may name when they are asked, as patterns below the project such as `docs/**`. None when absent.
    #[shape(default)]
    pub context_files: Vec<String>,
    /// Whether the model calls of flows get cache marks where they pay, as requests to the gateway do.
    #[shape(unset = true)]
    pub cache_planning: Option<bool>,
}

/// The policies that prompts are judged by, on top of the policy set.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct GovernanceTable {
    /// How texts are compared: as words and paths, or as the specification says.
    mode: Option<GovernanceMode>,
    /// Phrases that break no policy.
    #[shape(default)]
    allow: Vec<String>,
    /// Policies that are added to those of the set; the page about governance shows every kind.
    #[shape(default)]
    policies: Vec<PolicyValue>,
}

#[derive(Debug, Clone, Copy, Shape)]
enum GovernanceMode {
    Strict,
    Specified,
}

/// A policy that can be used, as data.
#[derive(Debug)]
struct PolicyValue(Value);

impl Shape for PolicyValue {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let policy = node.to_value();
        let set = Value::from_iter([("policies", Value::Array(vec![policy.clone()]))]);
        let Err(error) = PolicySet::from_value(&set) else { return Some(PolicyValue(policy)) };
        for fault in error.faults {
            let field = fault.pointer.as_str().trim_start_matches("/policies/0").trim_start_matches('/');
            let span = node.member(field).and_then(ValueNode::span).or(node.span());
            reader.fault(at, span, FaultKind::rule(BAD_POLICY, fault.message));
        }
        None
    }

    fn write(&self) -> Value {
        self.0.clone()
    }

    fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", "object")])
    }
}

impl GovernanceTable {
    pub(super) fn settings(self) -> GovernanceSettings {
        GovernanceSettings {
            mode: self.mode.map(|mode| match mode {
                GovernanceMode::Strict => MatchMode::Strict,
                GovernanceMode::Specified => MatchMode::Specified,
            }),
            allow: self.allow,
            policies: self.policies.into_iter().map(|policy| policy.0).collect(),
        }
    }
}
