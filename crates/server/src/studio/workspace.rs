//! The port to the projects whose flows are edited: their files, settings, compiler and model.

use std::fmt;
use std::sync::Arc;

use stave_canon::{Timestamp, Value};
use stave_diag::Diagnostic;
use stave_flow::CheckOptions;
use stave_flow::edit::FlowEdit;
use thiserror::Error;

use crate::catalog::ServedFlow;

/// A project whose flows can be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceProject {
    pub id: String,
    pub tenant: String,
    pub repo: String,
    /// The name of its policy set.
    pub policy: String,
    /// The model that chat edits are put to, as `provider/name`.
    pub model: Option<String>,
}

/// A flow file of a project, by the name that the studio knows it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFile {
    pub path: String,
    pub project: String,
}

/// A flow as the other lines have it: JSON texts as `stave compile` writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledLines {
    pub exec: String,
    pub system: String,
    pub bundle: String,
    pub manifest: String,
    /// The fingerprints of the first three.
    pub fingerprints: [String; 3],
}

#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// Also what lies outside of the project, or is no flow file: it is as if it were not there.
    #[error("there is no flow file `{0}`")]
    NotFound(String),
    /// The file is not what the writer had read; its hash as it is, when it is there.
    #[error("the file has changed since it was read")]
    Changed(Option<String>),
    #[error("the file is not UTF-8 text, or too large")]
    NotText,
    /// The flow has errors.
    #[error("the flow has errors")]
    Invalid(Vec<Diagnostic>),
    #[error("{0}")]
    Refused(String),
    /// Nobody waits for the work any more, so it was ended.
    #[error("the work on this text took too long and was ended")]
    Unwanted,
    /// The model gave no answer that can be used.
    #[error("{0}")]
    Upstream(String),
    /// What the machine or the project's settings do not allow; for people.
    #[error("{0}")]
    Failed(String),
}

/// Projects on a disk. The calls may block, and are made where that harms nobody.
///
/// Invariant for implementations: nothing outside of the projects is read or written, whatever the path
/// says, and a file is written whole or not at all.
pub trait Workspace: Send + Sync + fmt::Debug {
    fn projects(&self) -> Vec<WorkspaceProject>;

    /// The flow files of all projects, by path.
    fn files(&self) -> Vec<WorkspaceFile>;

    /// The project that a path belongs to, whether or not there is a file.
    fn project_of(&self, path: &str) -> Option<WorkspaceProject>;

    fn read(&self, path: &str) -> Result<String, WorkspaceError>;

    /// Replaces a file that has this hash; without a hash, makes one that is not there. A file that already has this
    /// text is left as it is, so that a write can be repeated. What it holds is served when this returns, if it can
    /// be.
    fn write(&self, path: &str, text: &str, hash: Option<&str>) -> Result<(), WorkspaceError>;

    /// How flows of the path's project are checked; without a path, as in a project that sets nothing.
    fn options(&self, path: Option<&str>) -> CheckOptions;

    /// The flow in this text, as if it were in the file.
    /// It ends as `Unwanted` between two passes when `is_wanted` says so.
    fn compile(
        &self,
        path: &str,
        text: &str,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<CompiledLines, WorkspaceError>;

    /// The same, ready to run.
    fn model(&self, path: &str, text: &str) -> Result<Arc<ServedFlow>, WorkspaceError>;

    /// Puts a wish to the project's model.
    fn ask(&self, path: &str, text: &str, wish: &str) -> Result<Vec<FlowEdit>, WorkspaceError>;

    /// Whether a gateway of the project has recorded anything.
    fn has_gateway(&self, project: &str) -> bool;

    /// What the project's gateway recorded of a tenant's requests, or of everybody's, between two times, grouped by
    /// a model, a session, a key or an upstream; `None` when it recorded nothing.
    fn gateway(
        &self,
        project: &str,
        tenant: Option<&str>,
        between: (Timestamp, Timestamp),
        by: &str,
    ) -> Result<Option<Value>, WorkspaceError>;

    /// The studio's path of the file that a run's document names.
    fn path_of(&self, source_file: &str) -> Option<String>;
}
