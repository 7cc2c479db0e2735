//! What the exec line promises, one module per subject.

mod rules;
mod schema;
mod wdl;
