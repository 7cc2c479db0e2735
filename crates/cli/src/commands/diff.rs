//! `stave diff`: what differs between two documents of one line, by meaning.

use std::path::{Path, PathBuf};

use stave_canon::Value;
use stave_flow::diff::{diff_texts, show};
use stave_flow::semantic_hash;

use crate::args::SystemDiff;
use crate::args::exec::Diff as ExecDiff;
use crate::differences;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::source_kind::{SourceKind, is_exec_document};
use crate::system_documents::is_bundle;
use crate::terminal::{self, Terminal};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave diff before.yaml after.yaml
  stave diff --json before.yaml after.yaml
  git show HEAD:flows/support.yaml | stave diff - flows/support.yaml

Ends with 1 when the two mean different things. Positions, dates of editing and comments are told apart \
from the meaning and do not count.")]
pub(crate) struct Diff {
    /// The earlier file; `-` reads stdin
    before: PathBuf,
    /// The later file
    after: PathBuf,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}

/// What kind of document a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flow,
    Exec,
    System,
    Workflow,
    Policy,
}

pub(crate) fn diff(arguments: &Diff, terminal: Terminal) -> Result<Exit, Stop> {
    let Diff { before, after, json } = arguments;
    let (old, new) = (files::read_text(before)?, files::read_text(after)?);
    match (kind(before, &old), kind(after, &new)) {
        (Kind::Flow, Kind::Flow) => flows(arguments, &old, &new, terminal),
        (Kind::Exec, Kind::Exec) => {
            let documents = ExecDiff { before: before.clone(), after: after.clone(), json: *json };
            differences::exec::diff(&documents, terminal)
        }
        (Kind::Workflow, Kind::Workflow) => {
            let sources = ExecDiff { before: before.clone(), after: after.clone(), json: *json };
            differences::exec::diff_workflows(&sources, terminal)
        }
        (Kind::Policy, Kind::Policy) => {
            let sources = ExecDiff { before: before.clone(), after: after.clone(), json: *json };
            differences::exec::diff_policies(&sources, terminal)
        }
        (Kind::System, Kind::System) => {
            let documents = SystemDiff { before: before.clone(), after: after.clone(), json: *json };
            differences::system::diff(&documents)
        }
        (one, other) => {
            let message = format!(
                "{} holds a document of the kind `{}` and {} one of the kind `{}`",
                before.display(),
                one.word(),
                after.display(),
                other.word()
            );
            Err(Stop::invalid(message).help("compare two documents of the same kind"))
        }
    }
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Flow => "flow",
            Kind::Exec => "exec",
            Kind::System => "system",
            Kind::Workflow => "workflow",
            Kind::Policy => "policy",
        }
    }
}

fn kind(path: &Path, text: &str) -> Kind {
    if is_exec_document(path, text) {
        return Kind::Exec;
    }
    match SourceKind::of(path) {
        Some(SourceKind::Workflow) => return Kind::Workflow,
        Some(SourceKind::Policy) => return Kind::Policy,
        Some(SourceKind::Flow) | None => {}
    }
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let is_system = is_json && (is_bundle(text) || is_document(text));
    if is_system { Kind::System } else { Kind::Flow }
}

/// A document of the system line has nodes and no edges.
fn is_document(text: &str) -> bool {
    stave_canon::parse(text).is_ok_and(|value| {
        matches!(value.get("nodes"), Some(Value::Array(_)))
            && value.get("edges").is_none_or(|edges| !matches!(edges, Value::Array(_)))
    })
}

fn flows(arguments: &Diff, old: &str, new: &str, terminal: Terminal) -> Result<Exit, Stop> {
    let hash = |path: &Path, text: &str| {
        let parsed = stave_flow::parse(stave_diag::SourceId(0), text);
        match parsed.tree.filter(|_| parsed.flow.is_some()) {
            Some(tree) => Ok(semantic_hash(&tree).ok()),
            None => Err(Stop::invalid(format!("{} is not a flow", path.display()))
                .help(format!("`stave check {}` says why", path.display()))),
        }
    };
    let hashes = (hash(&arguments.before, old)?, hash(&arguments.after, new)?);
    let diff = diff_texts(old, new);
    if arguments.json {
        let mut object = diff.to_value();
        if let Some(object) = object.as_object_mut() {
            let hashes = [("before", Value::from(hashes.0)), ("after", hashes.1.into())];
            object.insert("hash".to_owned(), Value::from_iter(hashes));
        }
        terminal::out(&object.to_string());
    } else {
        terminal::out_styled(show(&diff, terminal.stdout).to_string().trim_end());
    }
    Ok(if diff.is_empty() { Exit::Fine } else { Exit::Failed })
}
