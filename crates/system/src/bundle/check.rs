//! Compares a bundle with the document and the specifications it was made from: one file per rule.
//!
//! Every rule looks at the whole bundle and reports all it finds; none stops another. A bundle repeats most facts, so one
//! edit can break several rules: where the bundle can be made again, [`consequences`] keeps one finding per edit.

mod bundle_intent_mismatch;
mod bundle_ir_mismatch;
mod bundle_misaligned_deployment;
mod bundle_network_mismatch;
mod bundle_unknown_reference;
mod consequences;
mod content;
mod derived;
mod scope;
mod specifications;

use stave_canon::{Pointer, Value};
use stave_diag::Code;

pub use derived::Derivation;

use super::{BundleVersion, select};
use crate::policy::Check;
use crate::{SystemDocument, codes, strip};

/// One disagreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub code: Code,
    pub check: Check,
    /// Into the bundle.
    pub pointer: Pointer,
    pub message: String,
}

/// A bundle with what it is compared with. Parts that are not at hand are not compared.
#[derive(Debug, Clone, Copy)]
pub struct BundleComparison<'s> {
    pub document: &'s SystemDocument,
    pub bundle: &'s Value,
    pub orchestration: Option<&'s Value>,
    pub coordination: Option<&'s Value>,
    /// Whether the intent lets the run use the network.
    pub expected_allow_network: Option<bool>,
    /// What the bundle is made again from. Without it, members that no other rule compares are accepted as they are.
    pub derivation: Option<Derivation<'s>>,
}

/// Everything that a bundle and its sources disagree about.
#[must_use]
pub fn check(subject: BundleComparison<'_>) -> Vec<Issue> {
    let mut issues = Issues { subject, found: Vec::new() };
    scope::check(&mut issues);
    bundle_ir_mismatch::check(&mut issues);
    specifications::check(&mut issues);
    // What is made again from the document's own intent is compared exactly, which says more than these two rules.
    if subject.derivation.is_none_or(|derivation| derivation.intent.is_none()) {
        bundle_intent_mismatch::check(&mut issues);
        bundle_network_mismatch::check(&mut issues);
    }
    content::check(&mut issues);
    bundle_misaligned_deployment::check(&mut issues);
    if let Some(made) = derived::check(&mut issues) {
        consequences::remove(&mut issues, &made);
    }
    // These rules judge the specifications and the version, which no other finding explains.
    for (pointer, message) in version_faults(subject.bundle) {
        issues.add(codes::BUNDLE_BAD_SHAPE, pointer, message);
    }
    bundle_unknown_reference::check(&mut issues);
    derived::specifications(&mut issues);
    issues.found
}

/// The run that a bundle is of. The bundle repeats the id, so that one edited place does not change the answer.
fn run_id(bundle: &Value) -> &str {
    let in_path = |pointer: &str, begins: &str, ends: &str| {
        bundle.pointer(pointer)?.as_str()?.strip_prefix(begins)?.strip_suffix(ends)
    };
    let own = text(bundle, "run_id");
    let places = [
        own,
        bundle.get("runtime_policy_envelope").and_then(|envelope| text(envelope, "run_id")),
        in_path("/system_ir_ref/path", ".akc/ir/", ".json"),
        in_path("/coordination_ref/path", ".akc/agents/", ".coordination.json"),
    ];
    let votes = |id: &str| places.iter().flatten().filter(|place| **place == id).count();
    let own = own.unwrap_or_default();
    let other = places.into_iter().flatten().max_by_key(|id| votes(id)).unwrap_or_default();
    if votes(other) > votes(own) { other } else { own }
}

/// The schema version is one that exists, and the schema id says the same.
pub(super) fn version_faults(bundle: &Value) -> Vec<(Pointer, String)> {
    let root = Pointer::root();
    let mut faults = Vec::new();
    let number = bundle.get("schema_version");
    let version = number.and_then(Value::as_i64).and_then(BundleVersion::of);
    if let Some(number) = number
        && version.is_none()
    {
        let message = format!("schema_version {number} is not supported, only 1 to 4");
        faults.push((root.key("schema_version"), message));
    }
    if let Some(id) = bundle.get("schema_id") {
        let known = BundleVersion::ALL.into_iter().find(|version| id.as_str() == Some(&version.schema_id()));
        if known.is_none() {
            faults.push((root.key("schema_id"), format!("{id} is not a schema of a runtime bundle")));
        } else if version.is_some() && known != version {
            faults.push((root.key("schema_id"), format!("{id} disagrees with the schema_version")));
        }
    }
    faults
}

#[derive(Debug)]
struct Issues<'s> {
    subject: BundleComparison<'s>,
    found: Vec<Issue>,
}

impl<'s> Issues<'s> {
    fn add(&mut self, code: Code, pointer: Pointer, message: impl Into<String>) {
        self.found.push(Issue { code, check: Check::ArtifactConsistency, pointer, message: message.into() });
    }

    /// Adds an issue unless another rule has one at the same place.
    fn add_once(&mut self, code: Code, pointer: Pointer, message: impl Into<String>) {
        if !self.found.iter().any(|issue| issue.pointer == pointer) {
            self.add(code, pointer, message);
        }
    }

    fn member(&self, key: &str) -> Option<&'s Value> {
        self.subject.bundle.get(key)
    }

    /// The items of a list of the bundle; none when it is absent or of another kind.
    fn items(&self, key: &str) -> &'s [Value] {
        self.member(key).and_then(Value::as_array).unwrap_or_default()
    }
}

/// A string member without the white space around it.
fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).map(strip)
}
