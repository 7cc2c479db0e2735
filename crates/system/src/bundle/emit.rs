//! Bundles from documents.

use stave_canon::{Object, Value};
use thiserror::Error;

use super::envelope::Envelope;
use super::select::select;
use super::{Bundle, BundleVersion, coordination_path, delivery_plan_path, deployment, ir_path};
use crate::codec::{contract_value, node_value};
use crate::{NodeKind, SystemDocument, SystemNode, stable_json_fingerprint, strip};

/// What a bundle is made from.
#[derive(Debug, Clone, Copy)]
pub struct BundleSource<'b> {
    pub run_id: &'b str,
    pub document: &'b SystemDocument,
    pub intent: Option<&'b Intent>,
    pub orchestration: &'b Value,
    pub coordination: &'b Value,
    pub delivery_plan: Option<&'b Value>,
    pub options: BundleOptions,
}

/// The intent behind a run, with its two projections.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    pub spec: Value,
    pub reference: Value,
    pub policy_projection: Value,
    pub has_success_criteria: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BundleOptions {
    pub version: BundleVersion,
    /// Puts the whole document into the bundle.
    pub embed_system_ir: bool,
    /// Puts the coordination into the bundle, from version 4 on.
    pub embed_coordination_spec: bool,
    /// Demands that deployment intents match the document, from version 4 on.
    pub strict_alignment: bool,
    /// Takes deployment targets from the document alone, from version 4 on.
    pub deploy_targets_from_ir_only: bool,
}

/// Why there is no bundle.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BundleError {
    #[error("the run id {0:?} is blank or could leave its folder")]
    RunId(String),
    #[error("there is no bundle schema version {0}, only 1 to 4")]
    Version(String),
    #[error("{0} is not an option of a bundle")]
    Option(String),
    #[error("the {part} belongs to {field} {found:?}, the document to {own:?}")]
    Scope { part: &'static str, field: &'static str, found: String, own: String },
    #[error("the role {0:?} may use the network, which the intent forbids")]
    RoleNeedsNetwork(String),
}

impl BundleOptions {
    /// Reads options as a compile is configured with them.
    pub fn from_value(value: &Value) -> Result<BundleOptions, BundleError> {
        let mut options = BundleOptions::default();
        let Some(members) = value.as_object() else {
            return if value.is_null() { Ok(options) } else { Err(BundleError::Option(value.to_string())) };
        };
        for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            let refuse = || BundleError::Option(format!("{key} = {value}"));
            match key.as_str() {
                "runtime_bundle_schema_version" => {
                    let version = value.as_i64().and_then(BundleVersion::of);
                    options.version = version.ok_or_else(|| BundleError::Version(value.to_string()))?;
                }
                "embed_system_ir" => options.embed_system_ir = value.as_bool().ok_or_else(refuse)?,
                "embed_coordination_spec" => {
                    options.embed_coordination_spec = value.as_bool().ok_or_else(refuse)?;
                }
                "reconcile_deploy_targets_from_ir_only" => {
                    options.deploy_targets_from_ir_only = value.as_bool().ok_or_else(refuse)?;
                }
                "deployment_intents_ir_alignment" => {
                    options.strict_alignment = match value.as_str() {
                        Some("strict") => true,
                        Some("off") => false,
                        _ => return Err(refuse()),
                    };
                }
                _ => return Err(refuse()),
            }
        }
        Ok(options)
    }
}

impl Intent {
    /// An intent with the projections that follow from its spec.
    #[must_use]
    pub fn from_spec(spec: Value) -> Intent {
        let short = |value: &Value| stable_json_fingerprint(value).chars().take(16).collect::<String>();
        let member = |key: &str| spec.get(key).cloned().unwrap_or_default();
        let hash = stable_json_fingerprint(&spec);
        let goal = member("goal_statement");
        let goal_fingerprint = if goal.is_null() { String::new() } else { short(&goal) };
        let semantic: Value =
            ["objectives", "constraints", "policies", "success_criteria", "operating_bounds"]
                .into_iter()
                .map(|key| (key, member(key)))
                .collect();
        let semantic = short(&semantic);
        let criteria = member("success_criteria");
        let has_success_criteria = criteria.as_array().is_some_and(|criteria| !criteria.is_empty());
        let bounds = Some(member("operating_bounds")).filter(|bounds| !bounds.is_null());
        let reference = [
            ("intent_id", member("intent_id")),
            ("stable_intent_sha256", hash.as_str().into()),
            ("semantic_fingerprint", semantic.as_str().into()),
            ("goal_text_fingerprint", goal_fingerprint.as_str().into()),
        ];
        let policy_projection = [
            ("intent_id", member("intent_id")),
            ("spec_version", member("spec_version")),
            ("stable_intent_sha256", hash.into()),
            ("intent_semantic_fingerprint", semantic.into()),
            ("intent_goal_text_fingerprint", goal_fingerprint.into()),
            ("operating_bounds_effective", bounds.unwrap_or_else(|| Object::new().into())),
            (
                "policies",
                Some(member("policies"))
                    .filter(|list| !list.is_null())
                    .unwrap_or_else(|| Value::Array(Vec::new())),
            ),
        ];
        Intent {
            reference: reference.into_iter().collect(),
            policy_projection: policy_projection.into_iter().collect(),
            has_success_criteria,
            spec,
        }
    }

    fn allows_network(&self) -> bool {
        let bounds = self.spec.get("operating_bounds");
        bounds.and_then(|bounds| bounds.get("allow_network")).and_then(Value::as_bool) == Some(true)
    }
}

impl Bundle {
    /// Makes the bundle of a run.
    pub fn emit(source: BundleSource<'_>) -> Result<Bundle, BundleError> {
        let run_id = strip(source.run_id);
        if run_id.is_empty() || run_id.contains(['/', '\\', '\0']) || run_id.starts_with('.') {
            return Err(BundleError::RunId(source.run_id.to_owned()));
        }
        source.same_scope()?;
        let document = source.document;
        let fingerprint = document.fingerprint();
        let selected = select(document, source.orchestration);
        let envelope = Envelope {
            run_id,
            document,
            coordination: source.coordination,
            intent_allows: source.intent.is_some_and(Intent::allows_network),
            has_success_criteria: source.intent.is_some_and(|intent| intent.has_success_criteria),
        };
        let version = source.options.version;
        let mut bundle = Object::new();
        let mut put = |key: &str, value: Value| {
            bundle.insert(key.to_owned(), value);
        };
        put("schema_version", version.number().into());
        put("schema_id", version.schema_id().into());
        put("run_id", run_id.into());
        put("tenant_id", strip(&document.tenant_id).into());
        put("repo_id", strip(&document.repo_id).into());
        put("system_ir_ref", system_ir_ref(run_id, document, fingerprint));
        put("referenced_ir_nodes", selected.iter().map(|node| node_value(node)).collect::<Vec<_>>().into());
        put("referenced_contracts", contracts(&selected).into());
        put("deployment_intents", deployment::rows(&selected, source.delivery_plan).into());
        put("spec_hashes", spec_hashes(source));
        put("runtime_policy_envelope", envelope.value()?);
        put("delivery_plan_ref", delivery_plan_ref(run_id, source.delivery_plan));
        put("promotion_readiness", promotion_readiness(source.delivery_plan));
        if let Some(intent) = source.intent {
            put("intent_ref", intent.reference.clone());
            put("intent_policy_projection", intent.policy_projection.clone());
        }
        if let Some(reference) = knowledge_layer_ref(&selected) {
            put("knowledge_layer_ref", reference);
        }
        if source.options.embed_system_ir {
            put("system_ir", document.to_value());
        }
        if version >= BundleVersion::V3 {
            put("embed_system_ir", source.options.embed_system_ir.into());
        }
        if version >= BundleVersion::V4 {
            source.version_4(run_id, &mut put);
        }
        Ok(Bundle(Value::Object(bundle)))
    }
}

impl BundleSource<'_> {
    /// Everything a bundle is made from belongs to the document's tenant and repository.
    fn same_scope(&self) -> Result<(), BundleError> {
        let parts = [
            ("intent", self.intent.map(|intent| &intent.spec)),
            ("orchestration", Some(self.orchestration)),
            ("coordination", Some(self.coordination)),
            ("delivery plan", self.delivery_plan),
        ];
        let own = [("tenant_id", &self.document.tenant_id), ("repo_id", &self.document.repo_id)];
        for (part, value) in parts {
            for (field, own) in own {
                let found = value.and_then(|value| value.get(field)).and_then(Value::as_str);
                if let Some(found) = found.filter(|found| strip(found) != strip(own)) {
                    return Err(BundleError::Scope {
                        part,
                        field,
                        found: found.to_owned(),
                        own: own.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The fields that version 4 adds.
    fn version_4(&self, run_id: &str, put: &mut impl FnMut(&str, Value)) {
        let coordination = [
            ("path", Value::from(coordination_path(run_id))),
            ("fingerprint", stable_json_fingerprint(self.coordination).into()),
        ];
        put("coordination_ref", coordination.into_iter().collect());
        if self.options.embed_coordination_spec {
            put("coordination_spec", self.coordination.clone());
        }
        put("reconcile_desired_state_source", "ir".into());
        if self.options.strict_alignment {
            put("deployment_intents_ir_alignment", "strict".into());
        }
        if self.options.deploy_targets_from_ir_only {
            put("reconcile_deploy_targets_from_ir_only", true.into());
        }
        let nothing = || Value::Array(Vec::new());
        let provider = [
            ("kind", Value::from("in_memory")),
            ("mutation_mode", "observe_only".into()),
            ("rollback_mode", "none".into()),
            ("rollback_determinism", "deterministic".into()),
            ("required_env_flags", nothing()),
            ("required_policy_actions", nothing()),
        ];
        put("deployment_provider_contract", provider.into_iter().collect());
        let actions = [
            ("subprocess", vec!["runtime.action.execute.subprocess"]),
            ("http", vec!["runtime.action.execute.http"]),
        ];
        let workflow = [
            ("allowed_routes", Value::from(vec!["delegate_adapter", "noop", "subprocess", "http"])),
            ("required_policy_actions_by_route", actions.into_iter().collect()),
        ];
        put("workflow_execution_contract", workflow.into_iter().collect());
        let execution = [
            ("parallel_dispatch_enabled", Value::from(true)),
            ("max_in_flight_steps", 4_i64.into()),
            ("max_in_flight_per_role", 2_i64.into()),
            ("completion_fold_order", "coordination_step_id".into()),
        ];
        put("coordination_execution_contract", execution.into_iter().collect());
    }
}

fn system_ir_ref(run_id: &str, document: &SystemDocument, fingerprint: String) -> Value {
    Value::from_iter([
        ("path", Value::from(ir_path(run_id))),
        ("fingerprint", fingerprint.into()),
        ("format_version", document.version.format_version().into()),
        ("schema_version", document.version.schema_version().into()),
    ])
}

/// The contracts of the selected nodes in order of their ids; nodes may share one.
pub(super) fn contracts(selected: &[&SystemNode]) -> Vec<Value> {
    let mut contracts: Vec<_> = selected.iter().filter_map(|node| node.contract.as_ref()).collect();
    contracts.sort_by_key(|contract| strip(&contract.contract_id));
    contracts.into_iter().map(contract_value).collect()
}

fn spec_hashes(source: BundleSource<'_>) -> Value {
    Value::from_iter([
        ("orchestration_spec_sha256", stable_json_fingerprint(source.orchestration)),
        ("coordination_spec_sha256", stable_json_fingerprint(source.coordination)),
    ])
}

fn delivery_plan_ref(run_id: &str, plan: Option<&Value>) -> Value {
    plan.map_or(Value::Null, |plan| {
        Value::from_iter([
            ("path", delivery_plan_path(run_id)),
            ("fingerprint", stable_json_fingerprint(plan)),
        ])
    })
}

fn promotion_readiness(plan: Option<&Value>) -> Value {
    let readiness = plan.and_then(|plan| plan.get("promotion_readiness")).filter(|part| !part.is_null());
    readiness.cloned().unwrap_or_else(|| Value::from_iter([("status", "unknown")]))
}

/// What the first hub by id says.
fn knowledge_layer_ref(selected: &[&SystemNode]) -> Option<Value> {
    let hub = selected.iter().find(|node| node.kind == NodeKind::Knowledge)?;
    let mut reference = Object::new();
    reference.insert("knowledge_hub_node_id".into(), strip(&hub.id).into());
    for key in [
        "knowledge_semantic_fingerprint_16",
        "knowledge_provenance_fingerprint_16",
        "persisted_snapshot_relpath",
        "knowledge_assertion_ids",
    ] {
        if let Some(value) = hub.properties.get(key).filter(|value| !value.is_null()) {
            reference.insert(key.to_owned(), value.clone());
        }
    }
    Some(reference.into())
}
