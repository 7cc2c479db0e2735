//! Engines of one project, which share its database and its Python workers.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use stave_exec::Document;
use stave_request::ModelPlanning;
use stave_runtime::database::Database;
use stave_runtime::{EmbeddedEngine, Engine, HeavyWork, Services};
use stave_script::{PoolOptions, PythonPool, TemplateRenderer};
use stave_server::{Engines, Watched};

use crate::contracts::Contracts;
use crate::exit::Stop;
use crate::project::Project;
use crate::restate::{self, RestateClient};
use crate::services::{self, Models};
use crate::storage::{self, Storage};
use crate::tracing::Tracing;

/// How many Python workers the flows of one tenant share.
const PYTHON_WORKERS: usize = 8;

#[derive(Debug)]
pub(super) struct ProjectEngines {
    applied: RwLock<Arc<Applied>>,
    pub(super) database: Arc<Database>,
    python: Arc<PythonPool>,
    heavy_work: Arc<HeavyWork>,
    /// What the flows of the project know of providers' caches.
    planning: OnceLock<Arc<ModelPlanning>>,
    /// The Restate that keeps and drives the runs; without one this process does.
    restate: Option<Arc<RestateClient>>,
    tracing: Tracing,
}

/// The settings that runs begin with, all of one reading of the project file.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) project: Project,
    /// The digest of the secrets that were read with it.
    pub(super) secrets: String,
    /// The digest of the bundles, and what they promise once a run begins.
    pub(super) bundles: String,
    contracts: OnceLock<Contracts>,
    models: Models,
}

impl Applied {
    fn new(project: Project, models: Models) -> Applied {
        let (secrets, bundles) = (project.secrets_digest(), project.bundle_digest());
        Applied { secrets, bundles, contracts: OnceLock::new(), project, models }
    }

    fn contracts(&self) -> Result<&Contracts, Stop> {
        match self.contracts.get() {
            Some(contracts) => Ok(contracts),
            None => Contracts::of(&self.project).map(|contracts| self.contracts.get_or_init(|| contracts)),
        }
    }
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
        restate: Option<Arc<RestateClient>>,
        tracing: Tracing,
    ) -> Self {
        let applied = RwLock::new(Arc::new(Applied::new(project, models)));
        ProjectEngines { applied, database, python, heavy_work, planning: OnceLock::new(), restate, tracing }
    }

    /// Whether another engine keeps the runs.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.restate.is_some()
    }

    pub(super) fn applied(&self) -> Arc<Applied> {
        Arc::clone(&self.applied.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins runs with other settings from here on.
    pub(super) fn apply(&self, project: Project, models: Models) {
        let applied = Arc::new(Applied::new(project, models));
        *self.applied.write().unwrap_or_else(PoisonError::into_inner) = applied;
    }

    pub(super) fn services(
        &self,
        applied: &Applied,
        document: &Document,
        storage: Storage,
    ) -> Result<Services, Stop> {
        // A run that another process began, or that began under other bundles, is held to those of now.
        applied.contracts()?.admit(document)?;
        let (mut services, _) = services::build(&applied.project, document, storage, &applied.models)?;
        services.python = Arc::clone(&self.python);
        services.heavy_work = Arc::clone(&self.heavy_work);
        services.planning = services.planning.map(|own| Arc::clone(self.planning.get_or_init(|| own)));
        // One pool for the whole server, so that its bound on workers holds for templates too.
        services.templates = Arc::new(TemplateRenderer::new(Arc::clone(&self.python)));
        services.tracer = self.tracing.tracer();
        Ok(services)
    }
}

impl Engines for ProjectEngines {
    fn engine(&self, document: &Document, watched: Watched) -> Result<Arc<dyn Engine>, String> {
        let applied = self.applied();
        let project = &applied.project;
        if let Some(client) = &self.restate {
            return Ok(restate::engine(client, project));
        }
        // The bound on heavy work is the server's, so the journal takes its turns from the same pool.
        let journal = storage::journal(project, &self.database).heavy_work(Arc::clone(&self.heavy_work));
        let journal = watched.journal(journal);
        let built = storage::storage_of(project, document, &self.database)
            .and_then(|storage| self.services(&applied, document, Storage { journal, ..storage }));
        Ok(Arc::new(EmbeddedEngine::new(built.map_err(|stop| stop.to_string())?)))
    }
}
