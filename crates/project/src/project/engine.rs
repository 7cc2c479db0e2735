//! `[engine]`: what keeps and drives runs.

use stave_shape::{OneOrMany, Shape};

/// Who keeps and drives runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// This process, with a journal in the project's own file.
    Embedded,
    Restate,
}

/// What the command line chose. It overrides the project's settings.
#[derive(Debug, Clone, Default)]
pub struct EngineChoice {
    pub engine: Option<EngineKind>,
    /// The admin addresses of Restate.
    pub restate_url: Vec<String>,
    pub restate_ingress: Vec<String>,
}

/// What a project sets about its engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineSettings {
    pub kind: Option<EngineKind>,
    /// The admin addresses of Restate.
    pub url: Vec<String>,
    pub ingress: Vec<String>,
    /// Where a worker listens, and where Restate finds it.
    pub worker_listen: Option<String>,
    pub worker_url: Option<String>,
}

/// What keeps and drives runs.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct EngineTable {
    #[shape(unset = EngineWord::Embedded)]
    kind: Option<EngineWord>,
    /// The admin addresses of Restate.
    #[shape(default)]
    url: OneOrMany<String>,
    /// The ingress addresses of Restate.
    #[shape(default)]
    ingress: OneOrMany<String>,
    /// Where a worker listens.
    worker_listen: Option<String>,
    /// Where Restate finds the worker.
    worker_url: Option<String>,
}

/// This process with a journal in the project's own file, or Restate.
#[derive(Debug, Clone, Copy, Shape)]
enum EngineWord {
    Embedded,
    Restate,
}

impl EngineTable {
    pub(super) fn settings(self) -> EngineSettings {
        EngineSettings {
            kind: self.kind.map(|kind| match kind {
                EngineWord::Embedded => EngineKind::Embedded,
                EngineWord::Restate => EngineKind::Restate,
            }),
            url: self.url.0,
            ingress: self.ingress.0,
            worker_listen: self.worker_listen,
            worker_url: self.worker_url,
        }
    }
}
