//! A project and what its runs are built from: the settings of `stave.toml`, who may run, stores, secrets, and the ports
//! of the runtime filled from them.
//!
//! Invariants: this crate parses no arguments and prints nothing; what a person should know goes to the listener of
//! [`warnings`]. Every entry point asks [`admission::admit`] before it runs anything. Files are read and written through
//! [`files`] alone.

#![expect(
    clippy::disallowed_methods,
    reason = "a project is files and variables of the process, and this crate reads them for the others"
)]

pub mod admission;
pub mod archive;
pub mod certain_refusals;
pub mod changes;
pub mod context;
pub mod contracts;
pub mod edit_model;
pub mod exit;
pub mod features;
pub mod files;
pub mod governance;
pub mod image_files;
pub mod opcua;
pub mod planner_files;
pub mod ports;
mod project;
pub mod prompt_document;
pub mod prompt_plugins;
#[cfg_attr(not(feature = "restate"), path = "without/restate.rs")]
pub mod restate;
pub mod runnable;
pub mod services;
pub mod signing_keys;
pub mod source_kind;
pub mod state_archive;
pub mod state_folder;
pub mod storage;
pub mod system_documents;
#[cfg_attr(not(feature = "telemetry"), path = "without/tracing.rs")]
pub mod tracing;
pub mod warnings;
pub mod workflow;

pub use project::{
    EngineChoice, EngineKind, EngineSettings, Environment, FILE, GateSettings, GatewaySettings,
    GovernanceSettings, JournalSettings, KNOWLEDGE, KnownNames, LISTEN, LimitSettings, McpServer,
    OpcuaSettings, POLICIES, PluginSetting, Project, PromptSettings, Reported, SecretSettings, Settings,
    Signing, StateBackend, StoreSettings, TelemetrySettings, UpstreamSettings, names_flows, read, schema,
    unknown_names,
};
