//! What the system line promises, one module per subject.

mod bundle_edits;
mod bundles;
#[path = "../../shape/tests/changed.rs"]
mod changed;
mod deployment;
mod documents;
mod faults;
mod isolation;
mod laws;
mod manifests;
mod schemas;
mod signing;
