//! What the catalogue promises, one module per subject.

mod catalogue;
mod docs;
