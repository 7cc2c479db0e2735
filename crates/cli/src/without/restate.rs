//! Restate in a program that was built without it: a run that should go there is refused.

use std::sync::Arc;

use stave_runtime::Engine;
use stave_runtime::journal::Runs;

use crate::args::{EngineChoice, EngineKind};
use crate::exit::Stop;
use crate::project::Project;

/// Nothing is one.
#[derive(Debug)]
pub(crate) enum Client {}

pub(crate) fn client(choice: &EngineChoice, project: &Project) -> Result<Option<Arc<Client>>, Stop> {
    match choice.engine.or(project.settings.engine.kind) {
        Some(EngineKind::Restate) => Err(Stop::without_feature("restate", "the engine `restate`")),
        Some(EngineKind::Embedded) | None => Ok(None),
    }
}

pub(crate) fn runs(client: &Arc<Client>, _: &Project) -> Arc<dyn Runs> {
    match **client {}
}

pub(crate) fn engine(client: &Arc<Client>, _: &Project) -> Arc<dyn Engine> {
    match **client {}
}
