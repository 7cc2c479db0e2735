//! Restate in a program that was built without it: a run that should go there is refused.

use std::sync::Arc;

use stave_runtime::Engine;
use stave_runtime::journal::Runs;

use crate::exit::Stop;
use crate::project::{EngineChoice, EngineKind, Project};

/// Nothing is one.
#[derive(Debug)]
pub enum RestateClient {}

pub fn client(choice: &EngineChoice, project: &Project) -> Result<Option<Arc<RestateClient>>, Stop> {
    match choice.engine.or(project.settings.engine.kind) {
        Some(EngineKind::Restate) => Err(Stop::without_feature("restate", "the engine `restate`")),
        Some(EngineKind::Embedded) | None => Ok(None),
    }
}

pub fn runs(client: &Arc<RestateClient>, _: &Project) -> Arc<dyn Runs> {
    match **client {}
}

pub fn engine(client: &Arc<RestateClient>, _: &Project) -> Arc<dyn Engine> {
    match **client {}
}
