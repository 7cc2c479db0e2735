//! The grammar of `stave keys`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use stave_llm::prices::Cost;

use crate::args::GatewayPlace;
use crate::period::Period;

/// Issues, lists, revokes and rotates keys of the gateway, and makes signing keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave keys issue ada --models 'claude-*,gpt-4o' --budget-month 50
  stave keys issue nightly --requests-per-minute 60 --tokens-per-minute 200000 --expires 90d
  stave keys issue ops --admin                 may look at /stats and /metrics
  stave keys list
  stave keys rotate ada --grace 24h            the old text works for another day
  stave keys revoke ada
  stave keys signing new release               makes release.key and release.pub

A key's text is shown once, when it is issued or rotated. What is kept is its hash.
A running gateway applies every change within a second or two.")]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(super) action: KeysAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum KeysAction {
    /// Make a key for clients of the gateway, and show its text once
    Issue(Issue),
    /// List keys with their limits and what they spent
    List(List),
    /// End a key for good
    Revoke(Revoke),
    /// Give a key a new text; its limits and what it spent stay
    Rotate(Rotate),
    /// Keys that sign bundles and manifests
    Signing(Signing),
}

#[derive(Debug, Args)]
pub(super) struct Issue {
    /// What people call the key
    pub(super) name: String,
    /// Whose it is; the project's tenant when absent
    #[arg(long)]
    pub(super) tenant: Option<String>,
    /// The models it may ask for, separated by commas; `*` stands for any characters. All when absent
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    pub(super) models: Vec<String>,
    /// The most requests per minute
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) requests_per_minute: Option<u64>,
    /// The most tokens per minute, input and output together
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) tokens_per_minute: Option<u64>,
    /// The most dollars per day, in UTC
    #[arg(long, value_name = "DOLLARS")]
    pub(super) budget_day: Option<Cost>,
    /// The most dollars per month, in UTC
    #[arg(long, value_name = "DOLLARS")]
    pub(super) budget_month: Option<Cost>,
    /// How long it is valid, such as 12h or 90d; until it is revoked when absent
    #[arg(long, value_name = "PERIOD")]
    pub(super) expires: Option<Period>,
    /// May read the evidence and the metrics of all keys
    #[arg(long)]
    pub(super) admin: bool,
    #[command(flatten)]
    pub(super) place: GatewayPlace,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Revoked keys too
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) place: GatewayPlace,
}

#[derive(Debug, Args)]
pub(super) struct Revoke {
    /// The key's id or its name
    pub(super) key: String,
    #[command(flatten)]
    pub(super) place: GatewayPlace,
}

#[derive(Debug, Args)]
pub(super) struct Rotate {
    /// The key's id or its name
    pub(super) key: String,
    /// How long the old text stays valid, such as 30m or 24h; it ends at once when absent
    #[arg(long, value_name = "PERIOD")]
    pub(super) grace: Option<Period>,
    #[command(flatten)]
    pub(super) place: GatewayPlace,
}

#[derive(Debug, Args)]
pub(super) struct Signing {
    #[command(subcommand)]
    pub(super) action: SigningAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum SigningAction {
    /// Make a signing key: NAME.key, which only you can read, and NAME.pub
    New(SigningNew),
    /// Show which key a file holds, without its secret part
    Show(SigningShow),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave keys signing new release                 makes release.key and release.pub
  stave keys signing new release --out ~/keys")]
pub(super) struct SigningNew {
    /// The name of the two files
    pub(super) name: String,
    /// The folder to make them in
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) out: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stave keys signing show release.pub
  stave keys signing show release.key --json")]
pub(super) struct SigningShow {
    /// A public or a secret key
    pub(super) file: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(super) json: bool,
}

impl Keys {
    pub(crate) fn is_json(&self) -> bool {
        match &self.action {
            KeysAction::Issue(issue) => issue.place.json,
            KeysAction::List(list) => list.place.json,
            KeysAction::Revoke(revoke) => revoke.place.json,
            KeysAction::Rotate(rotate) => rotate.place.json,
            KeysAction::Signing(Signing { action: SigningAction::New(new) }) => new.json,
            KeysAction::Signing(Signing { action: SigningAction::Show(show) }) => show.json,
        }
    }
}
