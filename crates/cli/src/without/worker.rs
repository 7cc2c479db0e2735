//! Replaces the Restate worker in a program built without the `restate` feature.

use std::sync::Arc;

use super::engines::ProjectEngines;
use crate::args::Serve;
use crate::exit::Stop;
use crate::project::Project;
use crate::restate::RestateClient;

/// Nothing is one.
pub(super) enum Working {}

/// Nobody asks for these projects.
#[derive(Debug, Default)]
pub(super) struct ServedProjects;

impl Working {
    pub(super) async fn start(
        _: &Serve,
        _: &Project,
        client: Arc<RestateClient>,
        _: Arc<ServedProjects>,
    ) -> Result<Working, Stop> {
        match *client {}
    }

    pub(super) async fn end(self) {
        match self {}
    }
}

impl ServedProjects {
    pub(super) fn add(&self, _: &Arc<ProjectEngines>) {}
}
