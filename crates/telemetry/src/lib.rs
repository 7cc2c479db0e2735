//! Traces and metrics of runs and of the gateway's requests, by OpenTelemetry's conventions for generative AI, sent by OTLP over HTTP.
//!
//! Invariants: nothing here makes a run or a request wait or fail; what cannot be sent is dropped. Prompts, answers,
//! arguments and the words of failures leave only when content is captured, and then without secrets.

mod attributes;
mod collector;
mod messages;
mod metrics;
mod options;
mod request;
mod span;
mod telemetry;

pub use options::TelemetryOptions;
pub use telemetry::{SetupError, Telemetry};
