//! Which engine keeps and drives runs, for every command that has to do with runs.

use clap::{Args, ValueEnum};

use crate::project;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineKind {
    /// This process, with a journal in the project's own file
    Embedded,
    /// Restate, on one machine or on several
    Restate,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct EngineChoice {
    /// The engine that stores and drives runs; `engine.kind` of stave.toml when absent, else the embedded engine
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineKind>,
    /// The admin address of Restate; several with commas are the nodes of one cluster
    #[arg(long, value_name = "URL", value_delimiter = ',', env = "STAVE_RESTATE_URL")]
    pub(crate) restate_url: Vec<String>,
    /// The ingress address of Restate; port 8080 of the same hosts when absent
    #[arg(long, value_name = "URL", value_delimiter = ',', env = "STAVE_RESTATE_INGRESS")]
    pub(crate) restate_ingress: Vec<String>,
}

impl EngineChoice {
    /// The choice as the project's library takes it.
    pub(crate) fn choice(&self) -> project::EngineChoice {
        project::EngineChoice {
            engine: self.engine.map(|kind| match kind {
                EngineKind::Embedded => project::EngineKind::Embedded,
                EngineKind::Restate => project::EngineKind::Restate,
            }),
            restate_url: self.restate_url.clone(),
            restate_ingress: self.restate_ingress.clone(),
        }
    }
}
