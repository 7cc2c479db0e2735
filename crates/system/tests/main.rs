//! What the system line promises, one module per subject.

mod bundles;
mod deployment;
mod documents;
mod faults;
mod isolation;
mod laws;
mod manifests;
mod signing;
