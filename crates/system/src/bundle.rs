//! The runtime bundle: the projection of a document that a runtime is handed.
//!
//! [`Bundle::emit`] makes one from a document; [`check`] compares one with its document, content and all.
//! A bundle is kept as the JSON value it is, because readers must not lose what other writers add.
//!
//! Invariant: what [`Bundle::emit`] makes has no issue with the document it was made from.

pub mod check;
mod coordination;
mod deployment;
mod emit;
mod envelope;
mod form;
mod policy_envelope;
mod select;

use stave_canon::{DuplicateKeys, ParseOptions, Value, parse_with, pretty_sorted_utf8};

use crate::{LoadError, stable_json_fingerprint};

pub use coordination::{Specifications, specifications};
pub use emit::{BundleError, BundleOptions, BundleSource, Intent};
pub use envelope::forbids_network;
pub use form::schema;
pub use policy_envelope::PolicyEnvelope;

/// A runtime bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle(Value);

/// Which fields a bundle has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum BundleVersion {
    V1,
    V2,
    /// Says whether the document is inline.
    V3,
    /// Adds coordination, reconciliation and the three contracts.
    #[default]
    V4,
}

impl BundleVersion {
    pub const ALL: [BundleVersion; 4] =
        [BundleVersion::V1, BundleVersion::V2, BundleVersion::V3, BundleVersion::V4];

    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            BundleVersion::V1 => 1,
            BundleVersion::V2 => 2,
            BundleVersion::V3 => 3,
            BundleVersion::V4 => 4,
        }
    }

    #[must_use]
    pub fn schema_id(self) -> String {
        format!("akc:runtime_bundle:v{}", self.number())
    }

    #[must_use]
    pub fn of(number: i64) -> Option<BundleVersion> {
        BundleVersion::ALL.into_iter().find(|version| version.number() == number)
    }
}

impl Bundle {
    /// Reads a bundle's text. Only what a runtime relies on is demanded; the rest is kept as it is.
    pub fn from_text(text: &str) -> Result<Bundle, LoadError> {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::Refuse, non_finite: false };
        Bundle::from_value(parse_with(text, options)?)
    }

    pub fn from_value(value: Value) -> Result<Bundle, LoadError> {
        form::check(&value)?;
        Ok(Bundle(value))
    }

    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// A member that is a string; empty in no bundle that was loaded or made here.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The text of the bundle's file: two spaces of indentation, sorted keys, a final line feed.
    #[must_use]
    pub fn to_file_text(&self) -> String {
        let mut text = pretty_sorted_utf8(&self.0);
        text.push('\n');
        text
    }

    #[must_use]
    pub fn fingerprint(&self) -> String {
        stable_json_fingerprint(&self.0)
    }
}

/// Where the document of a run is kept.
#[must_use]
pub fn ir_path(run_id: &str) -> String {
    format!(".akc/ir/{run_id}.json")
}

/// Where the bundle of a run is kept.
#[must_use]
pub fn bundle_path(run_id: &str) -> String {
    format!(".akc/runtime/{run_id}.runtime_bundle.json")
}

/// Where the coordination of a run is kept.
#[must_use]
pub fn coordination_path(run_id: &str) -> String {
    format!(".akc/agents/{run_id}.coordination.json")
}

/// Where the delivery plan of a run is kept.
#[must_use]
pub fn delivery_plan_path(run_id: &str) -> String {
    format!(".akc/deployment/{run_id}.delivery_plan.json")
}

/// Where the orchestration of a run is kept.
#[must_use]
pub fn orchestration_path(run_id: &str) -> String {
    format!(".akc/orchestration/{run_id}.orchestration.json")
}
