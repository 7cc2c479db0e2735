//! The flows that are served, read from their files at the beginning and after each change.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_canon::Value;
use stave_diag::codes::project::UNLISTED_VARIABLE;
use stave_diag::{Diagnostic, Sources};
use stave_exec::Document;
use stave_runtime::HeavyPool;
use stave_runtime::journal::Runs;
use stave_script::PythonPool;
use stave_server::{Catalog, ServedFlow, TenantRuns, Unserved};

use super::engines::{ProjectEngines, python};
use super::file_reader::FileReader;
use super::log::Log;
use super::lowered::{LoweredFile, LoweredFlow};
use super::named_projects::NamedProjects;
use super::not_served::NotServed;
use super::projects::needs_restart;
use super::rooms::Rooms;
use super::worker::ServedProjects;
use super::{context, readiness, tenants};
use crate::args::{EngineChoice, LogLevel, Serve};
use crate::exit::Stop;
use crate::files;
use crate::project::Project;
use crate::services::Models;
use crate::source_kind::SourceKind;
use crate::tracing::Tracing;
use crate::{restate, storage};

#[derive(Debug)]
pub(super) struct Flows {
    paths: Vec<PathBuf>,
    rooms: Rooms,
    named: NamedProjects,
    pub(super) log: Log,
    replay: Option<PathBuf>,
    live: bool,
    /// Whether the server starts without any flow that can be served, and with flows that it may not serve: the studio is
    /// there to fix them.
    is_tolerant: bool,
    engine: EngineChoice,
    /// The Python workers of each tenant: one that keeps its own busy takes nobody else's.
    python: BTreeMap<String, Arc<PythonPool>>,
    /// The work on large values, shared by tenant.
    heavy_work: HeavyPool,
    /// The projects whose runs Restate hands out.
    projects: Arc<ServedProjects>,
    tracing: Tracing,
    /// Where the runs of each project are kept, by its folder.
    archives: BTreeMap<PathBuf, Arc<TenantRuns>>,
    /// Who begins the runs of each project, by its folder.
    pub(super) engines: BTreeMap<PathBuf, Arc<ProjectEngines>>,
    /// The folder of the project that each file was last served for.
    pub(super) roots: BTreeMap<PathBuf, PathBuf>,
    /// What each file was last served as.
    served: BTreeMap<PathBuf, Arc<ServedFlow>>,
    /// The files that are not served as they are.
    pub(super) unserved: Vec<Unserved>,
    /// Project files that are not used and were reported.
    ignored: HashSet<PathBuf>,
    reader: FileReader,
}

/// What came of reading the files.
pub(super) struct Loaded {
    pub(super) catalog: Catalog,
    pub(super) names: Vec<String>,
    /// Whether every file is served as it is now.
    pub(super) is_whole: bool,
    /// Whether anything else is served than before.
    pub(super) is_changed: bool,
}

impl Flows {
    #[cfg(test)]
    pub(super) fn none(terminal: crate::terminal::Terminal) -> Flows {
        use crate::args::LogFormat;
        let log = Log::start(LogFormat::Text, LogLevel::Error, terminal).expect("a thread can be started");
        let flows = Flows::new(&Serve::default(), Vec::new(), true, Tracing::default(), log);
        flows.expect("this program can find itself")
    }

    pub(super) fn new(
        arguments: &Serve,
        paths: Vec<PathBuf>,
        is_tolerant: bool,
        tracing: Tracing,
        log: Log,
    ) -> Result<Flows, Stop> {
        Ok(Flows {
            paths,
            rooms: Rooms::new(arguments.state_dir.clone()),
            named: NamedProjects::new(arguments)?,
            log,
            replay: arguments.replay.clone(),
            live: arguments.live,
            is_tolerant,
            engine: arguments.engine.clone(),
            python: BTreeMap::new(),
            heavy_work: HeavyPool::beside_others(),
            projects: Arc::default(),
            tracing,
            archives: BTreeMap::new(),
            engines: BTreeMap::new(),
            roots: BTreeMap::new(),
            served: BTreeMap::new(),
            unserved: Vec::new(),
            ignored: HashSet::new(),
            reader: FileReader::default(),
        })
    }

    /// Which project a file belongs to.
    pub(super) fn named(&self) -> NamedProjects {
        self.named.clone()
    }

    /// Divides what is read from outside among the tenants of these files.
    fn divide(&mut self, files: &[PathBuf]) -> Result<(), Stop> {
        let mut projects: Vec<Project> = Vec::new();
        for file in files {
            // What is wrong with a project file is reported with its flows.
            let Ok(project) = self.project(file, &mut Sources::new(), &mut Vec::new()) else { continue };
            for ignored in project.ignored.iter().filter(|file| !self.ignored.contains(*file)) {
                let message = format!("warning: {} is not used", files::shown(ignored).display());
                self.log.warn("project-ignored", &message);
            }
            self.ignored.extend(project.ignored.iter().cloned());
            projects.push(project);
        }
        tenants::separate_secrets(&projects)?;
        if tenants::close_environment(&projects, self.named.environment()) {
            // What was taken from the environment before belongs to nobody now.
            self.served.clear();
        }
        Ok(())
    }

    /// The projects that are served.
    pub(super) fn projects(&self) -> Arc<ServedProjects> {
        Arc::clone(&self.projects)
    }

    /// Reads every file. A flow that has mistakes is served as it was before it had them, at the start not at all: the
    /// other flows are served. What may not be served stops the start.
    pub(super) fn load(&mut self, before: Option<&Catalog>) -> Result<Loaded, Stop> {
        let files = documents(&self.paths)?;
        self.divide(&files)?;
        let reread = self.reread_projects(&files);
        let mut served: BTreeMap<PathBuf, Arc<ServedFlow>> = BTreeMap::new();
        let mut unserved = Vec::new();
        let (mut is_whole, mut is_changed) = (true, before.is_none());
        for file in files {
            let known = self.served.get(&file).cloned();
            let is_changed_project = reread.changed.contains(&file);
            let model = match reread.held.get(&file) {
                Some(setting) => Err(needs_restart(&file, setting).into()),
                // What was made under other settings is made again.
                None => self.model(&file, known.as_ref().filter(|_| !is_changed_project)),
            };
            // Keep the previous version of a broken flow, but not at the start and not when its project changed.
            let before_change = known.clone().filter(|_| before.is_some() && !is_changed_project);
            match model {
                Ok(model) => {
                    is_changed |= known.is_none_or(|known| !Arc::ptr_eq(&known, &model));
                    served.insert(file, model);
                }
                Err(not_served) => {
                    is_whole = false;
                    let kept = before_change.as_ref().map(|known| known.name().to_owned());
                    let one = self.unserved(&file, kept, &not_served);
                    let passes_over =
                        before.is_some() || (self.is_tolerant && is_flow(&file)) || !not_served.is_of_server;
                    self.report(&one, &not_served, is_changed_project, passes_over);
                    if !passes_over {
                        return Err(*not_served.stop);
                    }
                    unserved.push(one);
                    served.extend(before_change.map(|known| (file, known)));
                }
            }
        }
        let mut catalog = Catalog::new(self.archives.values().cloned().collect());
        let mut names = Vec::new();
        // Of two flows of one name, the one that was served stays; else the first by its path.
        let mut ordered: Vec<(&PathBuf, &Arc<ServedFlow>)> = served.iter().collect();
        ordered.sort_by_key(|(file, _)| !self.served.contains_key(*file));
        let mut refused = Vec::new();
        for (file, model) in ordered {
            match catalog.add(Arc::clone(model)) {
                Ok(()) => names.push(format!("`{}`", model.name())),
                Err(error) => refused.push((file.clone(), error)),
            }
        }
        names.sort();
        for (file, error) in refused {
            is_whole = false;
            let not_served = NotServed::shared_name(&file, &error);
            let one = self.unserved(&file, None, &not_served);
            self.report(&one, &not_served, false, true);
            unserved.push(one);
            // It comes later than the other one also when it is read again.
            served.remove(&file);
        }
        is_changed |= served.len() != self.served.len() || unserved != self.unserved;
        self.unserved.clone_from(&unserved);
        self.served = served;
        Ok(Loaded { catalog: catalog.with_unserved(unserved), names, is_whole, is_changed })
    }

    pub(super) fn project(
        &self,
        file: &Path,
        sources: &mut Sources,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Project, Stop> {
        self.named.project(file, sources, diagnostics)
    }

    /// A document as it is served.
    pub(super) fn served_as(&mut self, lowered: Box<LoweredFlow>) -> Result<Arc<ServedFlow>, Stop> {
        let LoweredFlow { project, document, about } = *lowered;
        let (context, refused) = match context::sources(&project, &document) {
            Ok(context) => (context, None),
            Err(unlisted) => (Vec::new(), Some((UNLISTED_VARIABLE.0, unlisted.to_string()))),
        };
        let unready = readiness::lacks(&project, &document, &self.models(&project));
        let unready = unready.or_else(|| refused.as_ref().map(|(_, reason)| reason.clone()));
        let archive = self.archive(project)?;
        let name = document.flow.name.clone();
        let alias = service_name(&document);
        let model = ServedFlow::new(name, document, &archive, context).map_err(Stop::invalid)?;
        Ok(Arc::new(model.alias(alias).about(about).unready(unready).refused(refused)))
    }

    /// The files that the paths stand for.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>, Stop> {
        documents(&self.paths)
    }

    /// The flow in a file; the one that is served, when it is still the same.
    fn model(&mut self, file: &Path, known: Option<&Arc<ServedFlow>>) -> Result<Arc<ServedFlow>, NotServed> {
        let (named, path) = (self.named.clone(), file.to_owned());
        let LoweredFile { project, sources, document, errors } =
            self.reader.read(file, move || named.lowered_file(&path))??;
        let Some(document) = document else {
            return Err(NotServed::mistaken(file, &errors, &sources, self.log.colour()));
        };
        if let Some(known) = known.filter(|known| known.is_of(&document.fingerprint())) {
            return Ok(Arc::clone(known));
        }
        self.roots.insert(file.to_owned(), project.root.clone());
        let about = if is_flow(file) { description(&files::read_text(file)?) } else { None };
        let lowered = Box::new(LoweredFlow { project, document, about });
        self.served_as(lowered).map_err(NotServed::of_server)
    }

    /// Who answers the model calls of a project.
    pub(super) fn models(&self, project: &Project) -> Models {
        match (&self.replay, &project.settings.replay) {
            (Some(path), _) => Models::Replay(path.clone()),
            (None, Some(path)) if !self.live => Models::Replay(project.root.join(path)),
            _ => Models::Live,
        }
    }

    /// Where the runs of a project are kept.
    fn archive(&mut self, project: Project) -> Result<Arc<TenantRuns>, Stop> {
        if let Some(archive) = self.archives.get(&project.root) {
            return Ok(Arc::clone(archive));
        }
        let database = storage::database(&self.rooms.take(&project)?)?;
        let client = restate::client(&self.engine.choice(), &project)?;
        let runs: Arc<dyn Runs> = match &client {
            Some(client) => restate::runs(client, &project),
            None => Arc::new(storage::journal(&project, &database)),
        };
        let models = self.models(&project);
        let (root, tenant) = (project.root.clone(), project.tenant().to_owned());
        let python = match self.python.get(&tenant) {
            Some(python) => Arc::clone(python),
            None => Arc::clone(self.python.entry(tenant.clone()).or_insert(python()?)),
        };
        let heavy_work = Arc::new(self.heavy_work.of(&tenant));
        let tracing = self.tracing.clone();
        let shared = (python, heavy_work);
        let name = format!("{tenant}/{}", project.repo());
        let message = format!("project {name} at {}", files::shown(&root).display());
        self.log.write(LogLevel::Info, "project-loaded", &message, &[("project", name.as_str().into())]);
        let engines = ProjectEngines::new(project, database, models, shared, client, tracing);
        let engines = Arc::new(engines);
        self.projects.add(&engines);
        self.engines.insert(root.clone(), Arc::clone(&engines));
        let archive = TenantRuns::new(tenant, runs, engines);
        self.archives.insert(root, Arc::clone(&archive));
        Ok(archive)
    }
}

/// The files that the paths stand for: sources and exec documents, each once.
fn documents(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(compiled(path));
        }
        // A folder with nothing but compiled flows has no sources.
        match files::expand(std::slice::from_ref(path)) {
            Ok(found) => files.extend(found),
            Err(stop) if files.is_empty() => return Err(stop),
            Err(_) => {}
        }
    }
    files.retain(|file| SourceKind::of(file) != Some(SourceKind::Policy));
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    Ok(files)
}

/// What the author of a flow says that it is for.
fn description(text: &str) -> Option<String> {
    let flow = stave_flow::parse(stave_diag::SourceId(0), text).flow?;
    flow.metadata.description.map(|about| about.as_str().to_owned())
}

fn is_flow(file: &Path) -> bool {
    SourceKind::of(file) == Some(SourceKind::Flow)
}

/// The exec documents directly in a folder.
fn compiled(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(".ir.json"))
        .collect();
    found.sort();
    found
}

/// The name of the service that the flow is deployed as.
fn service_name(document: &Document) -> String {
    let deployment = document.metadata.extra.get("deployment");
    let named = deployment.and_then(|hints| hints.pointer("/kserve/service_name")).and_then(Value::as_str);
    stave_flow::check::service_label(named.unwrap_or(&document.flow.name))
}
