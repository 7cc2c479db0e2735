//! Runs exec documents: the engine port, the embedded engine, state, features and step kinds.
//!
//! The runtime sees exec documents only, never YAML. A run is a [`Plan`](plan::Plan) driven by the
//! state machine of `stave_engine`; everything outside comes in through [`Services`].
//!
//! Invariants: results do not depend on timing; a step's result is durable before anything that depends
//! on it starts; a step's state is committed with its success or not at all; a value that does not fit a port is a failure at the node that made it.

mod attempts;
mod budget;
pub mod cache;
mod calls;
mod certain_refusals;
mod concurrency_limits;
mod conditions;
mod contracts;
pub mod database;
mod drive;
mod edges;
mod engine;
pub mod evidence;
pub mod features;
mod halt;
mod heavy_work;
pub mod hosts;
pub mod http;
mod interpolate;
pub mod interpreter;
pub mod journal;
mod labels;
mod model_hosts;
mod node_reports;
mod observer;
pub mod opcua;
pub mod plan;
mod policy;
mod port;
mod record_keys;
mod redirects;
mod references;
pub mod rep;
mod report;
pub mod report_document;
mod request;
mod run;
pub mod run_identity;
mod run_lifecycle;
mod script_calls;
mod secrets;
mod services;
mod spend;
pub mod state;
mod steps;
mod task;
pub mod tool_servers;
pub mod trace;
mod volume;

use stave_engine::failure;

pub use budget::{RunBudget, Spent};
pub use concurrency_limits::ConcurrencyLimits;
pub use engine::{Begun, EmbeddedEngine, Engine};
pub use heavy_work::{HeavyPool, HeavyWork};
pub use interpolate::add_secret_names;
pub use model_hosts::ModelHosts;
pub use observer::{RunEvent, RunObserver};
pub use report::{NodeReport, RunReport, Status};
pub use request::{RunRequest, check_request, without_auth};
pub use run::Call;
pub use run_identity::RunIdentity;
pub use secrets::Secrets;
pub use services::{DigestModel, DigestSettings, RunLimits, Services};
pub use spend::Unsettled;
pub use stave_engine::{Failure, FailureKind, RunFailure, Signal, StepResult};
pub use stave_llm::Usage;
pub use stave_llm::prices::Cost;
pub use stave_prompt::resolve::NoSource;
pub use stave_script::address::{HostPort, host_of};
pub use steps::{Step, StepKinds, StepOutput};
pub use volume::Volume;
