//! Everything that is wrong with a flow, one file per rule.
//!
//! Rules look and never run anything: Python and templates are parsed, schemas are compiled, addresses
//! are not resolved. A rule says nothing about what another rule or the parser reported already, so that
//! one mistake is one error. The model distinguishes an absent part from an unreadable one (`model/readable.rs`), and a
//! rule that needs an unreadable part is silent.

mod allow_lists;
mod answer_schema;
mod bad_else;
mod bad_test;
mod bad_timestamp;
mod cache;
mod code;
mod competing_requirements;
mod conditions;
mod conflicting_request_types;
mod contested_port;
mod context_uses;
mod cycle;
mod deployment;
mod duplicate_port;
mod each;
mod edge_ends;
mod fallbacks;
mod features_on_own_disk;
mod incompatible_types;
mod invalid_deployment_value;
mod labels;
mod leniencies;
mod literal_secret;
mod lost_edge;
mod memory_across_replicas;
mod models;
mod names;
mod needs_later_version;
mod op_results;
mod operations;
mod output;
mod placeholders;
mod project_rule;
mod reachability;
mod repeated_effect;
mod requests;
mod schema_drift;
mod schema_overlap;
mod schema_proof;
mod schemas;
mod state;
mod state_keys;
mod state_race;
pub(crate) mod strict;
mod subject;
mod templates;
mod tools;
mod unconnected_input;
mod undeclared_context;
mod unknown_prompt_name;
mod unknown_property;
mod unpriced_model;
mod unrouted_denial;
mod unused_node;
mod version;
mod volatile_system_text;

pub use cache::cached_contexts;
pub(crate) use cache::effect_words;
pub use deployment::{deployment_faults, service_label};

use std::collections::BTreeMap;

use stave_canon::Value;
use stave_diag::Diagnostic;
use stave_schema::OutputRequirements;

use crate::model::Flow;
use subject::Subject;

pub use labels::{Levels, Scopes, levels};
pub use project_rule::ProjectRule;
pub use unpriced_model::ModelCosts;

/// How a flow is judged.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// Whether the leniencies of the default dialect are errors.
    pub strict: bool,
    /// Providers that the project configures besides the specification's four.
    pub providers: Vec<String>,
    /// Who may be given sensitive data.
    pub scopes: Scopes,
    /// What the project lists for its flows; `None` judges nothing of it.
    pub allow: Option<stave_script::allow_list::AllowLists>,
    /// What prompts may name in the project's template files; `None` judges nothing of it.
    pub prompts: Option<PromptNames>,
    /// Which stores of the project every copy of a service shares.
    pub stores: SharedStores,
    /// What calls of models cost; `None` judges nothing of it.
    pub costs: Option<ModelCosts>,
    /// What the project judges beside.
    pub project_rules: Vec<std::sync::Arc<dyn ProjectRule>>,
}

/// Which stores are on servers that the project names, so that every copy of a service has the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SharedStores {
    /// What flows remember, whatever backend they name.
    pub state: bool,
    pub features: bool,
}

/// The role whose template is used for every role without one.
const GENERAL_ROLE: &str = "default";

/// The `schema_id` that means what the template of the prompt requires.
const DEFAULT_SCHEMA: &str = "default";

/// What the template files of a project define.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptNames {
    /// The templates by role, each with what it requires of answers.
    pub templates: BTreeMap<String, Option<OutputRequirements>>,
    /// The output schemas by id.
    pub schemas: BTreeMap<String, Value>,
}

impl PromptNames {
    /// What a template requires of answers. Roles without a template use the general one.
    fn template_of(&self, name: &str, is_role: bool) -> Option<&Option<OutputRequirements>> {
        let general = || self.templates.get(GENERAL_ROLE).filter(|_| is_role);
        self.templates.get(name).or_else(general)
    }
}

type Rule = fn(&Subject<'_>, &mut Vec<Diagnostic>);

/// Every rule. The order is the order in which a person would look: the file's own claims, the names in
/// it, the graph that the names make up, then the content of each node, and what surrounds the flow.
/// Findings are sorted by place afterwards, so it decides only between findings at one place.
const RULES: &[Rule] = &[
    // The file's own claims.
    version::check,
    needs_later_version::check,
    bad_timestamp::check,
    // Names first: a name outside the pattern explains why an edge cannot find it.
    names::check,
    duplicate_port::check,
    // The graph. Ends are found before types are compared, since only connected edges have types.
    edge_ends::check,
    incompatible_types::check,
    conflicting_request_types::check,
    schemas::check,
    schema_overlap::check,
    schema_drift::check,
    unconnected_input::check,
    cycle::check,
    contested_port::check,
    bad_else::check,
    output::check,
    unused_node::check,
    lost_edge::check,
    // Inside the nodes.
    undeclared_context::check,
    operations::check,
    op_results::check,
    placeholders::check,
    requests::check,
    literal_secret::check,
    allow_lists::check,
    conditions::check,
    templates::check,
    volatile_system_text::check,
    unknown_property::check,
    code::check,
    models::check,
    unknown_prompt_name::check,
    competing_requirements::check,
    fallbacks::check,
    unrouted_denial::check,
    unpriced_model::check,
    tools::check,
    each::check,
    state::check,
    state_keys::check,
    state_race::check,
    cache::check,
    repeated_effect::check,
    // Around the flow.
    deployment::check,
    invalid_deployment_value::check,
    memory_across_replicas::check,
    features_on_own_disk::check,
    bad_test::check,
    labels::check,
    leniencies::check,
];

/// Reports everything that is wrong with a flow, in no particular order.
#[must_use]
pub fn check(flow: &Flow, options: &CheckOptions) -> Vec<Diagnostic> {
    let subject = Subject::new(flow, options);
    let mut diagnostics = Vec::new();
    for rule in RULES {
        rule(&subject, &mut diagnostics);
    }
    diagnostics
}
