//! Engines of one project, which share its database and its Python workers.

use std::sync::Arc;

use stave_exec::Document;
use stave_runtime::EmbeddedEngine;
use stave_runtime::database::Database;
use stave_runtime::journal::Journal;
use stave_script::{PoolOptions, PythonPool};
use stave_server::Engines;

use crate::exit::Stop;
use crate::project::Project;
use crate::services::{self, Models};
use crate::storage;

/// How many Python workers the flows of a project share.
const PYTHON_WORKERS: usize = 8;

#[derive(Debug)]
pub(super) struct ProjectEngines {
    project: Project,
    database: Arc<Database>,
    models: Models,
    python: Arc<PythonPool>,
}

impl ProjectEngines {
    pub(super) fn new(project: Project, database: Arc<Database>, models: Models) -> Result<Self, Stop> {
        let options = PoolOptions { command: services::worker()?, size: PYTHON_WORKERS };
        Ok(ProjectEngines { project, database, models, python: Arc::new(PythonPool::new(options)) })
    }
}

impl Engines for ProjectEngines {
    fn engine(&self, document: &Document, journal: Arc<dyn Journal>) -> Result<EmbeddedEngine, String> {
        let built = storage::storage_of(&self.project, document, &self.database).and_then(|storage| {
            let storage = storage::Storage { journal, ..storage };
            services::build(&self.project, document, storage, &self.models)
        });
        let (mut services, _) = built.map_err(|stop| stop.to_string())?;
        services.python = Arc::clone(&self.python);
        Ok(EmbeddedEngine::new(services))
    }
}
