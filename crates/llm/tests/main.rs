//! What the clients of models promise, one module per subject.

#[path = "../../shape/tests/changed.rs"]
mod changed;
mod client;
mod codecs;
mod docs;
mod loopback;
mod recording_schema;
mod recordings;
