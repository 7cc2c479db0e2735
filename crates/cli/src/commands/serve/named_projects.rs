//! Which project a served file belongs to.
//!
//! Invariant: the operator decides. What lies below a folder that `--project` names belongs to the project of that folder;
//! everything else as `project/project/discovery.rs` says. A compiled flow that lies in a project which nobody named is refused: it
//! would be served for another tenant, under settings that it was not compiled for.

use std::path::{Path, PathBuf};

use stave_diag::codes::project::IGNORED_PROJECT_FILE;
use stave_diag::{Diagnostic, Sources};

use crate::args::Serve;
use crate::exit::Stop;
use crate::files;
use crate::project::{self, Environment, Project};

#[derive(Debug, Clone, Default)]
pub(super) struct NamedProjects {
    /// Canonical.
    folders: Vec<PathBuf>,
    /// The tenant of files that lie in no project.
    tenant: Option<String>,
    /// What every run is held to beside what its project names.
    bundle: Option<PathBuf>,
    environment: Environment,
}

impl NamedProjects {
    pub(super) fn new(arguments: &Serve) -> Result<NamedProjects, Stop> {
        let mut folders = Vec::new();
        for folder in &arguments.projects {
            if !folder.join(project::FILE).is_file() {
                let message = format!("--project {}: there is no {} in it", folder.display(), project::FILE);
                return Err(Stop::invalid(message));
            }
            folders.push(folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        }
        Ok(NamedProjects {
            folders,
            tenant: arguments.tenant.clone(),
            bundle: arguments.bundle.clone(),
            environment: Environment::default(),
        })
    }

    /// The environment of this process, as far as projects may read it.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The project of a file that is served or is to be.
    pub(super) fn project(
        &self,
        file: &Path,
        sources: &mut Sources,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Project, Stop> {
        let mut project = match self.folder_of(file) {
            Some(folder) => Project::at(folder, sources, diagnostics)?,
            None => Project::of(file, sources, diagnostics)?,
        };
        project.environment = self.environment.clone();
        project.also_held_to.clone_from(&self.bundle);
        if !project.has_file {
            project.settings.tenant = self.tenant.clone().or(project.settings.tenant);
        }
        refuse_foreign(&project, file)?;
        Ok(project)
    }

    /// The innermost named folder that holds a file.
    fn folder_of(&self, file: &Path) -> Option<&Path> {
        let place = place_of(file);
        let holding = self.folders.iter().filter(|folder| place.starts_with(folder));
        holding.max_by_key(|folder| folder.components().count()).map(PathBuf::as_path)
    }
}

/// The folder that a file lies in. Where a link leads does not count.
fn place_of(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

fn refuse_foreign(project: &Project, file: &Path) -> Result<(), Stop> {
    let is_document = file.extension().is_some_and(|extension| extension == "json");
    // A project file inside the project that is used is reported, and sets nothing.
    let is_inside = project.has_file && place_of(file).starts_with(&project.root);
    let Some(other) = project.ignored.last().filter(|_| is_document && !is_inside) else { return Ok(()) };
    let folder = other.parent().unwrap_or(other);
    let message = format!(
        "{} is refused: it was compiled in the project {}, and would be served for the tenant `{}`",
        files::shown(file).display(),
        files::shown(folder).display(),
        project.tenant(),
    );
    let help = format!(
        "name its project: --project {}, or start the server there; `stave explain {}` says more",
        files::shown(folder).display(),
        IGNORED_PROJECT_FILE.0,
    );
    Err(Stop::refused(message).code(IGNORED_PROJECT_FILE.0).help(help))
}
