//! Where runs are kept, for every command that looks for them.

use std::path::PathBuf;

use clap::Args;

use super::EngineChoice;
use crate::archive;

#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Where runs are kept; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) engine: EngineChoice,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

impl Place {
    /// The place as the project's library takes it.
    pub(crate) fn runs(&self) -> archive::ArchiveLocation {
        archive::ArchiveLocation { state_dir: self.state_dir.clone(), engine: self.engine.choice() }
    }
}

/// Where the gateway keeps its keys and records, and how to answer.
#[derive(Debug, Args)]
pub(crate) struct GatewayPlace {
    /// Where the gateway's keys and records are kept; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}
