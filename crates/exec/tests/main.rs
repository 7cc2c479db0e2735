//! What the exec line promises, one module per subject.

mod extras;
mod rules;
mod schema;
mod wdl;
