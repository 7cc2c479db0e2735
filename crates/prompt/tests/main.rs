//! What the prompt line promises, one module per subject.

mod bypass;
#[path = "../../shape/tests/changed.rs"]
mod changed;
mod compile;
mod conversations;
mod created_at;
mod golden;
mod pages;
mod pipeline;
mod properties;
mod schema;
