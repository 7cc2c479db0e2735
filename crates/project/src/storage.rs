//! Where runs, sessions and features are kept: the project's own file, memory, or servers that it names.

use std::path::Path;
use std::sync::Arc;

use stave_canon::Ids;
use stave_exec::Document;
use stave_exec::dataflow::{NodeData, StepState};
use stave_operations::HOPSWORKS_WRITE_FEATURES;
use stave_runtime::cache::{MemoryCache, ResultCache, SqliteCache};
use stave_runtime::database::{Database, DatabaseError};
use stave_runtime::journal::{Ephemeral, Journal, SqliteJournal};
use stave_runtime::state::{MemoryStore, SqliteStore, StateStore, StateStores};
use stave_stores::{AddressError, RedisState};
#[cfg(feature = "mysql")]
use stave_stores::{Mysql, MysqlState};
use tempfile::TempDir;

use crate::exit::Stop;
use crate::files;
use crate::ports::RandomIds;
use crate::project::{Project, StateBackend};
use crate::warnings;

/// The database of a project, in its `.stave` folder.
pub const DATABASE: &str = "stave.sqlite";

/// The stores of a run.
#[derive(Debug)]
pub struct Storage {
    pub journal: Arc<dyn Journal>,
    pub state: Arc<dyn StateStore>,
    pub cache: Arc<dyn ResultCache>,
    /// The project's file, when it is open.
    pub database: Option<Arc<Database>>,
}

/// Opens the project's database when something is to be kept there. An ephemeral run that remembers and
/// writes nothing leaves no file behind.
pub fn storage(
    project: &Project,
    document: &Document,
    folder: &Path,
    ephemeral: bool,
) -> Result<Storage, Stop> {
    if !ephemeral {
        return storage_of(project, document, &database(folder)?);
    }
    let writes = document.graph.nodes.iter().any(|node| node.kind == HOPSWORKS_WRITE_FEATURES.name);
    let remembers = !sessions(document)?.is_empty();
    let wants_file = writes || remembers && project.settings.stores.state != Some(StateBackend::Memory);
    let exists = folder.join(DATABASE).is_file();
    let database = if wants_file || exists { Some(database(folder)?) } else { None };
    let own: Arc<dyn StateStore> = match &database {
        Some(database) if remembers => Arc::new(SqliteStore::new(Arc::clone(database))),
        _ => Arc::new(MemoryStore::new()),
    };
    let state = state(project, document, own)?;
    Ok(Storage { journal: Arc::new(Ephemeral), state, cache: Arc::new(MemoryCache::default()), database })
}

/// The same with an open database, for runs that are kept. What such a run remembers is kept with it,
/// because it has to be there when the run is resumed.
pub fn storage_of(project: &Project, document: &Document, database: &Arc<Database>) -> Result<Storage, Stop> {
    let in_memory = project.settings.stores.state == Some(StateBackend::Memory);
    let own: Arc<dyn StateStore> = if in_memory && !sessions(document)?.is_empty() {
        Arc::new(MemoryStore::new())
    } else {
        Arc::new(SqliteStore::new(Arc::clone(database)))
    };
    Ok(Storage {
        journal: Arc::new(journal(project, database)),
        state: state(project, document, own)?,
        cache: Arc::new(SqliteCache::new(Arc::clone(database))),
        database: Some(Arc::clone(database)),
    })
}

/// The same for runs that an engine keeps elsewhere, together with what they remember.
pub fn storage_elsewhere(
    project: &Project,
    document: &Document,
    database: &Arc<Database>,
    journal: Arc<dyn Journal>,
    own: Arc<dyn StateStore>,
) -> Result<Storage, Stop> {
    Ok(Storage {
        journal,
        state: state(project, document, own)?,
        cache: Arc::new(SqliteCache::new(Arc::clone(database))),
        database: Some(Arc::clone(database)),
    })
}

/// The journal of a project.
pub fn journal(project: &Project, database: &Arc<Database>) -> SqliteJournal {
    let journal = SqliteJournal::new(Arc::clone(database));
    match project.settings.journal.record_bytes {
        Some(bytes) => journal.record_bytes(usize::try_from(bytes).unwrap_or(usize::MAX)),
        None => journal,
    }
}

/// Opens the database in a folder, which is made when it is not there.
pub fn database(folder: &Path) -> Result<Arc<Database>, Stop> {
    files::create_private_folder(folder).map_err(|error| {
        Stop::internal(format!("{} cannot be made: {error}", folder.display()))
            .help("--state-dir names another folder, and --ephemeral keeps nothing of a run")
    })?;
    let path = folder.join(DATABASE);
    files::prepare_database(&path)?;
    let database = Database::open(&path, &RandomIds.uuid())
        .map_err(|error| Stop::internal(format!("{} cannot be opened: {error}", path.display())))?;
    warn_of_loss(&path, &database);
    Ok(database)
}

/// The database in a folder for those who only look, with the copy that it was read from if there is one.
///
/// It is read beside those that write it, without writing anything: so this works on a full disk. That needs the index of
/// the log, which a process that ended in order takes away with the log. Without an index the database is opened as for
/// writing. On a disk or in a folder that can't be written, a database whose log is empty is read as it is, and any other
/// one is copied to the folder for temporary files first. Opening it for writing where the disk is full would spoil the
/// index, so that comes second.
pub(crate) fn database_to_read(folder: &Path) -> Result<(Arc<Database>, Option<TempDir>), Stop> {
    let path = folder.join(DATABASE);
    let fail =
        |error: &dyn std::fmt::Display| Stop::internal(format!("{} can't be read: {error}", path.display()));
    let is_writable = files::is_writable(folder) && files::is_writable(&path);
    if is_writable {
        files::prepare_database(&path)?;
    }
    if let Ok(database) = Database::open_read_only(&path, &RandomIds.uuid()) {
        warn_of_loss(&path, &database);
        return Ok((database, None));
    }
    if is_writable {
        match Database::open(&path, &RandomIds.uuid()) {
            Ok(database) => {
                warn_of_loss(&path, &database);
                return Ok((database, None));
            }
            Err(DatabaseError::Unwritable(_)) => {}
            Err(error) => return Err(fail(&error)),
        }
    }
    let log = folder.join(format!("{DATABASE}-wal"));
    let log_bytes = std::fs::metadata(&log).map_or(0, |log| log.len());
    if log_bytes == 0
        && let Ok(database) = Database::open_immutable(&path, &RandomIds.uuid())
    {
        warn_of_loss(&path, &database);
        return Ok((database, None));
    }
    let copy = tempfile::tempdir().map_err(|error| fail(&error))?;
    for file in [&path, &log] {
        if let Some(name) = file.file_name().filter(|_| file.is_file()) {
            let copied = copy.path().join(name);
            std::fs::copy(file, &copied)
                .and_then(|_| files::make_writable(&copied))
                .map_err(|error| fail(&error))?;
        }
    }
    let copied = copy.path().join(DATABASE);
    let database = Database::open_copy(&copied, &path, &RandomIds.uuid()).map_err(|error| fail(&error))?;
    warn_of_loss(&path, &database);
    Ok((database, Some(copy)))
}

/// Says that commits are missing from a database.
fn warn_of_loss(path: &Path, database: &Database) {
    let lost = database.lost_commits();
    if lost > 0 {
        warnings::warn_once(&format!(
            "{lost} commits are missing from {}: its log (-wal) was deleted or cut off, or an older copy was put in its \
             place; runs and steps may be missing. `stave runs gc --accept-loss` ends this warning",
            path.display()
        ));
    }
}

/// The stores that the sessions of a document need, around the project's own.
fn state(
    project: &Project,
    document: &Document,
    own: Arc<dyn StateStore>,
) -> Result<Arc<dyn StateStore>, Stop> {
    let settings = &project.settings.stores;
    let own = match settings.state {
        Some(StateBackend::Redis) => {
            let address = project.redis_address().ok_or_else(|| no_address("redis", "state", "REDIS_URL"))?;
            redis(project, &address)?
        }
        Some(StateBackend::Hopsworks) => {
            let address = project
                .hopsworks_address()
                .ok_or_else(|| no_address("hopsworks", "hopsworks", "HOPSWORKS_URL"))?;
            hopsworks(project, &address)?
        }
        _ => own,
    };
    let mut stores = StateStores::new(own);
    let mut named: Vec<String> = sessions(document)?.into_iter().map(|state| state.backend).collect();
    named.sort();
    named.dedup();
    for backend in named {
        let (store, variable) = match backend.as_str() {
            "redis" => (project.redis_address().map(|url| redis(project, &url)).transpose()?, "REDIS_URL"),
            "hopsworks" => (
                project.hopsworks_address().map(|url| hopsworks(project, &url)).transpose()?,
                "HOPSWORKS_URL",
            ),
            _ => continue,
        };
        match store {
            Some(store) => stores.insert(backend, store),
            None => warnings::warn_once(&format!(
                "state with `backend: {backend}` is kept in the project's own store, because {variable} is not set"
            )),
        }
    }
    Ok(Arc::new(stores))
}

/// The state of sessions in a document.
fn sessions(document: &Document) -> Result<Vec<StepState>, Stop> {
    let mut states = Vec::new();
    for node in &document.graph.nodes {
        let data = NodeData::read(&node.extra)
            .map_err(|faults| Stop::invalid(format!("node `{}`: {faults}", node.id)))?;
        states.extend(data.and_then(|data| data.state).filter(|state| state.session));
    }
    Ok(states)
}

/// Before the keys of a project: projects on one server are told apart by tenant and repository.
fn prefix(project: &Project) -> String {
    format!("stave:{}", project.plain_names().join(":"))
}

fn redis(project: &Project, address: &str) -> Result<Arc<dyn StateStore>, Stop> {
    let store = RedisState::new(address, &prefix(project)).map_err(|error| bad_address("redis", &error))?;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "mysql"))]
fn hopsworks(_: &Project, _: &str) -> Result<Arc<dyn StateStore>, Stop> {
    Err(Stop::without_feature("mysql", "the state backend `hopsworks`"))
}

#[cfg(feature = "mysql")]
fn hopsworks(project: &Project, address: &str) -> Result<Arc<dyn StateStore>, Stop> {
    Ok(Arc::new(MysqlState::new(mysql(address)?, &prefix(project))))
}

/// A pool of connections to the online feature store.
#[cfg(feature = "mysql")]
pub(crate) fn mysql(address: &str) -> Result<Mysql, Stop> {
    Mysql::new(address).map_err(|error| bad_address("hopsworks", &error))
}

fn bad_address(backend: &str, error: &AddressError) -> Stop {
    Stop::invalid(format!("the address of `{backend}` cannot be used: {error}"))
}

fn no_address(backend: &str, table: &str, variable: &str) -> Stop {
    Stop::invalid(format!("the state backend `{backend}` has no address"))
        .help(format!("set {variable} in the environment, or `url` in [{table}] of stave.toml"))
}
