//! Engines of one project, which share its database and its Python workers.

use std::sync::Arc;

use stave_exec::Document;
use stave_runtime::database::Database;
use stave_runtime::{EmbeddedEngine, Engine, HeavyWork, Services};
use stave_script::{PoolOptions, PythonPool, Templates};
use stave_server::{Engines, Watched};

use crate::exit::Stop;
use crate::project::Project;
use crate::restate::{self, Client};
use crate::services::{self, Models};
use crate::storage::{self, Storage};
use crate::tracing::Tracing;

/// How many Python workers the flows of one tenant share.
const PYTHON_WORKERS: usize = 8;

#[derive(Debug)]
pub(super) struct ProjectEngines {
    pub(super) project: Project,
    pub(super) database: Arc<Database>,
    models: Models,
    python: Arc<PythonPool>,
    heavy_work: Arc<HeavyWork>,
    /// The Restate that keeps and drives the runs; without one this process does.
    restate: Option<Arc<Client>>,
    tracing: Tracing,
}

pub(super) fn python() -> Result<Arc<PythonPool>, Stop> {
    let options = PoolOptions { command: services::worker()?, size: PYTHON_WORKERS };
    Ok(Arc::new(PythonPool::new(options)))
}

impl ProjectEngines {
    pub(super) fn new(
        project: Project,
        database: Arc<Database>,
        models: Models,
        (python, heavy_work): (Arc<PythonPool>, Arc<HeavyWork>),
        restate: Option<Arc<Client>>,
        tracing: Tracing,
    ) -> Self {
        ProjectEngines { project, database, models, python, heavy_work, restate, tracing }
    }

    pub(super) fn services(&self, document: &Document, storage: Storage) -> Result<Services, Stop> {
        let (mut services, _) = services::build(&self.project, document, storage, &self.models)?;
        services.python = Arc::clone(&self.python);
        services.heavy_work = Arc::clone(&self.heavy_work);
        // One pool for the whole server, so that its bound on workers holds for templates too.
        services.templates = Arc::new(Templates::new(Arc::clone(&self.python)));
        services.tracer = self.tracing.tracer();
        Ok(services)
    }
}

impl Engines for ProjectEngines {
    fn engine(&self, document: &Document, watched: Watched) -> Result<Arc<dyn Engine>, String> {
        if let Some(client) = &self.restate {
            return Ok(restate::engine(client, &self.project));
        }
        let journal = watched.journal(storage::journal(&self.project, &self.database));
        let built = storage::storage_of(&self.project, document, &self.database)
            .and_then(|storage| self.services(document, Storage { journal, ..storage }));
        Ok(Arc::new(EmbeddedEngine::new(built.map_err(|stop| stop.to_string())?)))
    }
}
