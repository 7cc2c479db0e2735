//! What the exec line promises, one module per subject.

mod extras;
mod manifests;
mod migration;
mod policy_faults;
mod rules;
mod schema;
mod wdl;
