//! The rest of a bundle is what the emitter makes of its sources: the envelope, the contracts of the runtime, the intent,
//! the knowledge, readiness, and what a deployment row adds to its node.
//!
//! The bundle is made again and compared member by member, so every edit has a finding of its own at its own place.
//! Members that another rule compares are left to that rule. When the intent follows from the document, the bundle must be
//! exactly the one that is made again. Another writer may have had an intent that is not at hand: then the intent is the
//! one that the bundle states, and members that only that writer knows are accepted.

use std::collections::BTreeSet;

use stave_canon::{Object, Pointer, Value};

use super::{Issues, run_id, text};
use crate::bundle::emit::{BundleError, BundleOptions, BundleSource, Intent};
use crate::bundle::{Bundle, BundleVersion, Specifications};
use crate::codes;

const ENVELOPE: &str = "runtime_policy_envelope";
const DEPLOYMENTS: &str = "deployment_intents";

/// Members that other rules compare.
const COMPARED: [&str; 12] = [
    "schema_version",
    "schema_id",
    "run_id",
    "tenant_id",
    "repo_id",
    "system_ir_ref",
    "system_ir",
    "referenced_ir_nodes",
    "referenced_contracts",
    "spec_hashes",
    "coordination_ref",
    "coordination_spec",
];

/// Members among them that the other rules read leniently: references may have more members, and an inline part may have
/// another form with the same meaning. This writer's own are exactly as they are made.
const EXACT: [&str; 5] =
    ["system_ir_ref", "spec_hashes", "coordination_ref", "system_ir", "coordination_spec"];

/// What a row says beyond its node.
const OF_THE_PLAN: [&str; 4] =
    ["target_class", "environment_support", "delivery_paths", "operational_profile_fingerprint"];

/// What a bundle is made again from, beside its document and specifications.
#[derive(Debug, Clone, Copy)]
pub struct Derivation<'d> {
    /// The intent, when it follows from the document.
    pub intent: Option<&'d Intent>,
    /// The specifications that the document gives, when the intent follows from it too.
    pub specifications: Option<&'d Specifications>,
    /// The delivery plan, when it lies where the bundle says.
    pub delivery_plan: Option<&'d Value>,
    /// Whether the project demands that deployment intents match the document.
    pub demands_alignment: bool,
}

/// The specifications beside the bundle are those that the document gives.
pub(super) fn specifications(issues: &mut Issues<'_>) {
    let Some(specifications) = issues.subject.derivation.and_then(|derivation| derivation.specifications)
    else {
        return;
    };
    let pairs = [
        ("orchestration_spec_sha256", issues.subject.orchestration, &specifications.orchestration),
        ("coordination_spec_sha256", issues.subject.coordination, &specifications.coordination),
    ];
    for (key, found, wanted) in pairs {
        if found.is_some_and(|found| found != wanted) {
            let message = "the specification beside the bundle is not the one that the document gives";
            let pointer = Pointer::root().key("spec_hashes").key(key);
            issues.add_once(codes::BUNDLE_SPEC_MISMATCH, pointer, message);
        }
    }
}

/// Compares the bundle with the one that its sources give; gives that one.
pub(super) fn check(issues: &mut Issues<'_>) -> Option<Bundle> {
    let derivation = issues.subject.derivation?;
    let (orchestration, coordination) = (issues.subject.orchestration?, issues.subject.coordination?);
    let bundle = issues.subject.bundle;
    let stated = stated_intent(bundle);
    let source = BundleSource {
        run_id: run_id(bundle),
        document: issues.subject.document,
        intent: Some(derivation.intent.unwrap_or(&stated)),
        orchestration,
        coordination,
        delivery_plan: derivation.delivery_plan,
        options: options(bundle),
    };
    let made = match Bundle::emit(source) {
        Ok(made) => made,
        Err(error @ BundleError::RoleNeedsNetwork(_)) => {
            let pointer = Pointer::root().key(ENVELOPE).key("coordination_role_isolation_profiles");
            issues.add(codes::BUNDLE_NETWORK_MISMATCH, pointer, error.to_string());
            return None;
        }
        // Another rule reports owners and run ids that differ.
        Err(_) => return None,
    };
    let mut comparison = DerivedComparison { is_exact: derivation.intent.is_some(), found: Vec::new() };
    comparison.members(bundle, made.value());
    comparison.options(bundle, derivation.demands_alignment);
    let plan_is_missing = derivation.delivery_plan.is_none()
        && bundle.get("delivery_plan_ref").is_some_and(|reference| !reference.is_null());
    for (pointer, message) in comparison.found {
        let of_the_plan = |key: &str| pointer.to_string().starts_with(&format!("/{key}"));
        let is_unknown = plan_is_missing
            && ["delivery_plan_ref", "promotion_readiness", DEPLOYMENTS].into_iter().any(of_the_plan)
            && !comparison.is_exact;
        if !is_unknown {
            issues.add_once(codes::BUNDLE_CONTENT_DRIFT, pointer, message);
        }
    }
    Some(made)
}

/// The intent that a bundle states, for a writer whose intent is not at hand.
fn stated_intent(bundle: &Value) -> Intent {
    let part = |key: &str| bundle.get(key).cloned().unwrap_or_default();
    let projection = part("intent_policy_projection");
    let envelope = part(ENVELOPE);
    let bounds = match projection.get("operating_bounds_effective") {
        Some(bounds) if !bounds.is_null() => bounds.clone(),
        // Without an intent the bundle's own word is all there is; what is known can still forbid it.
        _ => {
            let allows = envelope.get("allow_network").and_then(Value::as_bool) == Some(true);
            Value::from_iter([("allow_network", allows)])
        }
    };
    let evidence = envelope.get("require_reconcile_evidence").and_then(Value::as_bool);
    Intent {
        spec: Value::from_iter([("operating_bounds", bounds)]),
        reference: part("intent_ref"),
        policy_projection: projection,
        has_success_criteria: evidence == Some(true),
    }
}

/// The options that a bundle shows. Fields of version 4 are compared in every version that has them.
fn options(bundle: &Value) -> BundleOptions {
    let is_there = |key: &str| bundle.get(key).is_some_and(|part| !part.is_null());
    BundleOptions {
        version: BundleVersion::V4,
        embed_system_ir: is_there("system_ir"),
        embed_coordination_spec: is_there("coordination_spec"),
        strict_alignment: text(bundle, "deployment_intents_ir_alignment") == Some("strict"),
        deploy_targets_from_ir_only: bundle
            .get("reconcile_deploy_targets_from_ir_only")
            .and_then(Value::as_bool)
            == Some(true),
    }
}

struct DerivedComparison {
    /// Whether nothing but what was made again may be there.
    is_exact: bool,
    found: Vec<(Pointer, String)>,
}

impl DerivedComparison {
    fn members(&mut self, bundle: &Value, made: &Value) {
        let (Some(bundle_members), Some(made)) = (bundle.as_object(), made.as_object()) else { return };
        let version = bundle.get("schema_version").and_then(Value::as_i64);
        let is_latest = version.is_none_or(|version| version == BundleVersion::V4.number());
        let keys: BTreeSet<&str> = made.keys().chain(bundle_members.keys()).map(String::as_str).collect();
        for key in keys {
            let pointer = Pointer::root().key(key);
            let is_compared = COMPARED.contains(&key);
            match (bundle_members.get(key), made.get(key)) {
                (Some(found), Some(wanted)) if self.is_exact && EXACT.contains(&key) => {
                    self.values(found, wanted, &pointer);
                }
                (Some(_), _) if is_compared => {}
                (Some(found), Some(wanted)) if key == DEPLOYMENTS => self.rows(found, wanted, &pointer),
                (Some(found), Some(wanted)) => self.values(found, wanted, &pointer),
                // Other writers may leave a reference out that repeats a hash.
                (None, Some(_)) if key == "coordination_ref" && !self.is_exact => {}
                // Versions before the last one leave members out.
                (None, Some(wanted)) if is_latest && (self.is_exact || !wanted.is_null()) => {
                    self.missing(key, &Pointer::root());
                }
                (Some(found), None) => self.extra(found, &pointer),
                _ => {}
            }
        }
    }

    /// Rows are matched by their nodes; another rule compares what they repeat of these.
    fn rows(&mut self, found: &Value, wanted: &Value, pointer: &Pointer) {
        let rows = |value: &'_ Value| value.as_array().unwrap_or_default().to_vec();
        let wanted = rows(wanted);
        for (index, row) in rows(found).iter().enumerate() {
            let of_node = |wanted: &&Value| text(wanted, "node_id") == text(row, "node_id");
            let Some(wanted) = wanted.iter().find(of_node) else { continue };
            let pointer = pointer.index(index);
            for key in OF_THE_PLAN {
                match (row.get(key), wanted.get(key)) {
                    (Some(found), Some(wanted)) => self.values(found, wanted, &pointer.key(key)),
                    (None, Some(wanted)) if self.is_exact || !wanted.is_null() => self.missing(key, &pointer),
                    _ => {}
                }
            }
            if let (Some(row), Some(wanted)) = (row.as_object(), wanted.as_object()) {
                for (key, found) in row.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
                    self.extra(found, &pointer.key(key));
                }
            }
        }
    }

    fn values(&mut self, found: &Value, wanted: &Value, pointer: &Pointer) {
        match (found, wanted) {
            (Value::Object(found), Value::Object(wanted)) => self.objects(found, wanted, pointer),
            (Value::Array(found), Value::Array(wanted)) if found.len() == wanted.len() => {
                for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                    self.values(found, wanted, &pointer.index(index));
                }
            }
            _ if found == wanted => {}
            // Each writer has a sentence of its own; what counts is whether there is a reason.
            (Value::String(_), Value::String(_))
                if !self.is_exact && pointer.to_string().ends_with("/network_allow_reason") => {}
            _ => self.found.push((pointer.clone(), format!("is {found}, and its sources give {wanted}"))),
        }
    }

    fn objects(&mut self, found: &Object, wanted: &Object, pointer: &Pointer) {
        let is_envelope = pointer.to_string() == format!("/{ENVELOPE}");
        let keys: BTreeSet<&str> = found.keys().chain(wanted.keys()).map(String::as_str).collect();
        for key in keys {
            // Another rule compares the owner.
            if is_envelope && matches!(key, "tenant_id" | "repo_id" | "run_id") {
                continue;
            }
            let pointer_of_key = pointer.key(key);
            match (found.get(key), wanted.get(key)) {
                (Some(found), Some(wanted)) => self.values(found, wanted, &pointer_of_key),
                (None, Some(wanted)) if self.is_exact || !wanted.is_null() => self.missing(key, pointer),
                (Some(found), None) => self.extra(found, &pointer_of_key),
                _ => {}
            }
        }
    }

    fn missing(&mut self, key: &str, parent: &Pointer) {
        self.found.push((parent.key(key), format!("`{key}` is missing")));
    }

    fn extra(&mut self, found: &Value, pointer: &Pointer) {
        if self.is_exact {
            self.found.push((pointer.clone(), format!("is {found}, and its sources give nothing here")));
        }
    }

    /// Settings of the compile that no source gives: values that exist, and what the project demands.
    fn options(&mut self, bundle: &Value, demands_alignment: bool) {
        const ALIGNMENT: &str = "deployment_intents_ir_alignment";
        let stated =
            bundle.get(ALIGNMENT).filter(|stated| !matches!(stated.as_str(), Some("strict" | "off")));
        if let Some(stated) = stated.filter(|stated| !stated.is_null() && !self.is_exact) {
            let message = format!("is {stated}, which is neither \"strict\" nor \"off\"");
            self.found.push((Pointer::root().key(ALIGNMENT), message));
        }
        let is_latest = bundle.get("schema_version").and_then(Value::as_i64) == Some(4);
        if bundle.get(ALIGNMENT).is_none() && demands_alignment && is_latest && self.is_exact {
            let message = format!("`{ALIGNMENT}` is missing, and the project demands \"strict\"");
            self.found.push((Pointer::root().key(ALIGNMENT), message));
        }
    }
}
