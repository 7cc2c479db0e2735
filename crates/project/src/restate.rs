//! Restate as the command line and the project name it.

use std::sync::Arc;

use stave_runtime::journal::Runs;
use stave_runtime::{Engine, RunLimits};
pub use stave_scale::RestateClient;
use stave_scale::{Addresses, ProjectKey, RestateEngine, RestateRuns};

use crate::exit::Stop;
use crate::ports::{RandomIds, SystemClock};
use crate::project::{EngineChoice, EngineKind, Project};
use crate::services;

/// The port of Restate's ingress, when only the admin address is known.
const INGRESS: u16 = 8080;

/// A client of the Restate that keeps the runs of a project; none when the embedded engine does.
pub fn client(choice: &EngineChoice, project: &Project) -> Result<Option<Arc<RestateClient>>, Stop> {
    let settings = &project.settings.engine;
    let kind = choice.engine.or(settings.kind);
    let kind = kind.unwrap_or(EngineKind::Embedded);
    if kind == EngineKind::Embedded {
        return Ok(None);
    }
    let admin = given(&choice.restate_url, &settings.url);
    if admin.is_empty() {
        return Err(Stop::invalid("the engine is Restate, and it has no address")
            .help("--restate-url URL names its admin address, or `url` in [engine] of stave.toml"));
    }
    let ingress = match given(&choice.restate_ingress, &settings.ingress) {
        ingress if ingress.is_empty() => admin.iter().map(|url| ingress_of(url)).collect::<Result<_, _>>()?,
        ingress => ingress,
    };
    let client = RestateClient::new(Addresses { admin, ingress });
    client.map(Arc::new).map(Some).map_err(|error| Stop::invalid(error.to_string()))
}

/// The runs of a project that Restate keeps.
pub fn runs(client: &Arc<RestateClient>, project: &Project) -> Arc<dyn Runs> {
    Arc::new(runs_of(client, project))
}

fn runs_of(client: &Arc<RestateClient>, project: &Project) -> RestateRuns {
    RestateRuns::new(Arc::clone(client), key(project))
}

/// The engine that hands runs of a project to Restate.
pub fn engine(client: &Arc<RestateClient>, project: &Project) -> Arc<dyn Engine> {
    Arc::new(engine_of(client, project))
}

/// The same as what it is, for runs that are handed over.
pub fn engine_of(client: &Arc<RestateClient>, project: &Project) -> RestateEngine {
    let limits: RunLimits = services::limits(project);
    RestateEngine::new(runs_of(client, project), Arc::new(RandomIds), Arc::new(SystemClock), limits)
}

pub fn key(project: &Project) -> ProjectKey {
    ProjectKey::new(project.tenant(), project.repo())
}

fn given(argument: &[String], setting: &[String]) -> Vec<String> {
    let given = if argument.is_empty() { setting } else { argument };
    given.iter().map(|url| url.trim().to_owned()).filter(|url| !url.is_empty()).collect()
}

fn ingress_of(admin: &str) -> Result<String, Stop> {
    let parsed = url::Url::parse(admin).ok().and_then(|mut url| {
        url.set_port(Some(INGRESS)).ok()?;
        url.set_path("");
        Some(url)
    });
    parsed.map(|url| url.to_string()).ok_or_else(|| Stop::invalid(format!("{admin} is not an address")))
}
