//! The grammar of `stave system`, `stave bundle` and `stave keys`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use crate::period::Period;

/// The largest counter that every reader of JSON keeps exactly.
const MOST_COUNTER: u64 = (1 << 53) - 1;

#[derive(Debug, clap::Args)]
pub(crate) struct System {
    #[command(subcommand)]
    pub(crate) action: SystemAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SystemAction {
    /// What a system document holds: its owner, its fingerprint, its nodes
    Show(SystemShow),
    /// Everything that is wrong with system documents, at its line and column
    Validate(SystemValidate),
    /// Which nodes differ between two documents, and in what
    Diff(SystemDiff),
    /// Draw a document's nodes and dependencies
    Graph(SystemGraph),
    /// Make the runtime bundle of a document
    Bundle(SystemBundle),
    /// Bring a document of version 1 to version 2, with a report
    Migrate(SystemMigrate),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave system show build/.akc/ir/run_1f0c.json
  stave system show build/.akc/ir/run_1f0c.json --json
  stave system show build/.akc/runtime/run_1f0c.runtime_bundle.json")]
pub(crate) struct SystemShow {
    /// The document, or a runtime bundle
    pub(crate) file: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave system validate build/.akc/ir/*.json
  stave system validate plan.json --ir-operational-structure-policy error")]
pub(crate) struct SystemValidate {
    /// Documents
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policies: PolicyFlags,
}

/// How strictly each kind of check is held; `stave.toml` decides what is not given here.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PolicyFlags {
    /// Contracts are where they belong
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) ir_operational_structure_policy: Option<Level>,
    /// The graph holds together
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) ir_graph_integrity_policy: Option<Level>,
    /// A bundle and what it was made from agree
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) artifact_consistency_policy: Option<Level>,
    /// Deployment intents and deployable nodes agree
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) deployment_intents_ir_alignment_policy: Option<Level>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Off,
    Warn,
    Error,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave system diff old.json new.json
  stave system diff old.runtime_bundle.json new.runtime_bundle.json --json

Ends with 1 when they differ, and with 3 when they belong to different tenants or repositories.")]
pub(crate) struct SystemDiff {
    /// The earlier document or bundle
    pub(crate) before: PathBuf,
    /// The later one
    pub(crate) after: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave system graph build/.akc/ir/run_1f0c.json
  stave system graph plan.json --format svg > plan.svg")]
pub(crate) struct SystemGraph {
    /// The document, or a runtime bundle with its document inline or beside it
    pub(crate) file: PathBuf,
    /// The language of the picture
    #[arg(long, value_enum, default_value_t = GraphFormat::Mermaid)]
    pub(crate) format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Mermaid,
    Dot,
    Svg,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave system bundle plan.json --run-id plan-7 > plan-7.runtime_bundle.json
  stave system bundle plan.json --run-id plan-7 --schema-version 2 --out bundle.json")]
pub(crate) struct SystemBundle {
    /// The document
    pub(crate) file: PathBuf,
    /// The run that the bundle is for
    #[arg(long)]
    pub(crate) run_id: String,
    /// The bundle's schema version, 1 to 4; the project's when absent
    #[arg(long, value_name = "N")]
    pub(crate) schema_version: Option<i64>,
    /// Put the whole document into the bundle
    #[arg(long)]
    pub(crate) embed_system_ir: bool,
    /// Demand that deployment intents match the document (version 4)
    #[arg(long)]
    pub(crate) strict_alignment: bool,
    /// Take deployment targets from the document alone (version 4)
    #[arg(long)]
    pub(crate) deploy_targets_from_ir_only: bool,
    /// Allow the nodes of a document without an intent to use the network that they declare
    #[arg(long)]
    pub(crate) allow_network: bool,
    /// Write here instead of printing
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave system migrate old.json                    the report alone
  stave system migrate old.json --out new.json")]
pub(crate) struct SystemMigrate {
    /// The document
    pub(crate) file: PathBuf,
    /// Write the migrated document here; without it only the report is made
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Bundle {
    #[command(subcommand)]
    pub(crate) action: BundleAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BundleAction {
    /// Compare a runtime bundle with its document, content and all
    Check(BundleCheck),
    /// Sign bundles, manifests or system documents
    Sign(BundleSign),
    /// Verify signatures; exit code 3 when an artefact is refused
    Verify(BundleVerify),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave bundle check build/.akc/runtime/run_1f0c.runtime_bundle.json
  stave bundle check bundle.json --ir document.json --json

When the project asks for signatures, an unsigned, tampered or foreign bundle is refused with exit code 3.")]
pub(crate) struct BundleCheck {
    /// The bundle
    pub(crate) file: PathBuf,
    /// The document; the inline one, else the one that the bundle refers to when absent
    #[arg(long, value_name = "FILE")]
    pub(crate) ir: Option<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) policies: PolicyFlags,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave bundle sign build/.akc/runtime/run_1f0c.runtime_bundle.json --key release.key
  stave bundle sign build/.akc/run/run_1f0c.manifest.json --key release.key --counter 12 --expires 90d

The signature is written beside the artefact, as FILE.sig.")]
pub(crate) struct BundleSign {
    /// Artefacts
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The secret key; `[signing] key` of stave.toml when absent
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The version counter, which a later build must exceed; the seconds since 1970 when absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_COUNTER))]
    pub(crate) counter: Option<u64>,
    /// How long the signature is valid, such as 12h or 90d; until it is refused otherwise when absent
    #[arg(long, value_name = "PERIOD")]
    pub(crate) expires: Option<Period>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave bundle verify build/.akc/runtime/*.runtime_bundle.json
  stave bundle verify bundle.json --trusted release.pub --json")]
pub(crate) struct BundleVerify {
    /// Artefacts
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A public key to trust, as a file or 64 hexadecimal digits; `[signing] trusted` of stave.toml when absent
    #[arg(long, value_name = "KEY")]
    pub(crate) trusted: Vec<String>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

impl System {
    pub(crate) fn is_json(&self) -> bool {
        match &self.action {
            SystemAction::Show(show) => show.json,
            SystemAction::Validate(validate) => validate.json,
            SystemAction::Diff(diff) => diff.json,
            SystemAction::Migrate(migrate) => migrate.json,
            SystemAction::Graph(_) | SystemAction::Bundle(_) => false,
        }
    }
}

impl Bundle {
    pub(crate) fn is_json(&self) -> bool {
        match &self.action {
            BundleAction::Check(check) => check.json,
            BundleAction::Sign(sign) => sign.json,
            BundleAction::Verify(verify) => verify.json,
        }
    }
}
