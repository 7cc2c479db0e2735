//! The projects of the served flows, as the studio works with them.
//!
//! Invariants: a path leads to a flow file of a project or nowhere; it is followed through no link; a file is
//! replaced whole, and only when it is what its writer had read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use stave_canon::{Timestamp, Value, prefixed_sha256};
use stave_compile::Previewed;
use stave_diag::Sources;
use stave_flow::CheckOptions;
use stave_flow::edit::FlowEdit;
use stave_gateway::records::{By, Stats, StatsQuery};
use stave_server::{
    CompiledLines, ServedFlow, Server, Workspace, WorkspaceError, WorkspaceFile, WorkspaceProject,
};

use super::flows::Flows;
use super::log::Log;
use super::lowered::LoweredText;
use super::named_projects::NamedProjects;
use crate::args::Serve;
use crate::edit_model;
use crate::exit::{Exit, Stop};
use crate::files::{self, ReadError};
use crate::project::Project;
use crate::source_kind::SourceKind;

/// The folder of flows in a project.
const FLOWS: &str = "flows";

/// The largest file that is read, and the deepest folder that is looked into.
const FILE_BYTES: u64 = 2 * 1024 * 1024;
const DEPTH: usize = 8;
/// How many groups, sessions and misses of a gateway are listed.
const GATEWAY_ROWS: u32 = 20;
/// The longest name of a file or folder; systems have none that is longer than 255 bytes.
const NAME_BYTES: usize = 200;
/// The most files that are listed.
const MOST_FILES: usize = 2000;

/// One project, with the beginning that its paths have in the studio.
#[derive(Debug)]
struct Root {
    id: String,
    /// Empty when there is no other project.
    prefix: String,
    /// Canonical.
    folder: PathBuf,
    /// Flow files that were named to be served, relative to the folder.
    named: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct ProjectWorkspace {
    roots: Vec<Root>,
    flows: Arc<Mutex<Flows>>,
    named: NamedProjects,
    replay: Option<PathBuf>,
    /// Where runs are kept and gateways record, when it is named.
    state_dir: Option<PathBuf>,
    /// One writer at a time compares and replaces.
    writing: Mutex<()>,
    /// What to serve changed flows with, once there is a server.
    pub(super) server: OnceLock<(Server, tokio::runtime::Handle)>,
    log: Log,
}

/// Gives projects that share a name their folder too: `desk@a` and `desk@b` for `a/desk` and `b/desk`. The names depend on
/// the folders only, so that they stay when a server is started with its projects in another order.
fn tell_apart(roots: &mut [Root]) {
    let all: Vec<(String, Vec<String>)> = roots
        .iter()
        .map(|root| {
            let parts = root.folder.iter().rev().map(|part| part.to_string_lossy().into_owned());
            (root.id.clone(), parts.collect())
        })
        .collect();
    for (root, (id, parts)) in roots.iter_mut().zip(&all) {
        let others: Vec<&Vec<String>> =
            all.iter().filter(|(other, path)| other == id && path != parts).map(|(_, path)| path).collect();
        if others.is_empty() {
            continue;
        }
        // The last folder of the path that none of the others has at this place.
        let own = (0..parts.len()).find(|at| others.iter().all(|other| other.get(*at) != parts.get(*at)));
        let label = match own.and_then(|at| parts.get(at)) {
            Some(part) => part.clone(),
            None => parts.iter().rev().map(String::as_str).collect::<Vec<_>>().join("."),
        };
        root.id = format!("{id}@{}", label.replace(['/', '\\'], ""));
    }
}

impl ProjectWorkspace {
    /// The projects of these files.
    pub(super) fn new(
        files: &[PathBuf],
        flows: Arc<Mutex<Flows>>,
        arguments: &Serve,
        log: Log,
    ) -> ProjectWorkspace {
        let named = flows.lock().unwrap_or_else(PoisonError::into_inner).named();
        let mut roots: Vec<Root> = Vec::new();
        for file in files {
            let Ok(absolute) = file.canonicalize() else { continue };
            let project = named.project(&absolute, &mut Sources::new(), &mut Vec::new());
            let Ok(project) = project else { continue };
            let Ok(folder) = project.root.canonicalize() else { continue };
            let name =
                relative(&folder, &absolute).filter(|_| SourceKind::of(file) == Some(SourceKind::Flow));
            let place = roots.iter().position(|root| root.folder == folder).unwrap_or_else(|| {
                roots.push(Root {
                    id: project.repo(),
                    prefix: String::new(),
                    folder,
                    named: BTreeSet::new(),
                });
                roots.len() - 1
            });
            if let Some(root) = roots.get_mut(place) {
                root.named.extend(name);
            }
        }
        tell_apart(&mut roots);
        if roots.len() > 1 {
            for root in &mut roots {
                root.prefix = format!("{}/", root.id);
            }
        }
        let (writing, server) = (Mutex::default(), OnceLock::new());
        ProjectWorkspace {
            roots,
            flows,
            named,
            replay: arguments.replay.clone(),
            state_dir: arguments.state_dir.clone(),
            writing,
            server,
            log,
        }
    }

    /// The root that a path begins with, and the rest of the path.
    fn root<'p>(&self, path: &'p str) -> Option<(&Root, &'p str)> {
        self.roots.iter().find_map(|root| Some((root, path.strip_prefix(root.prefix.as_str())?)))
    }

    /// The file that a path means. It need not be there, but what is there is no link.
    fn resolve(&self, path: &str) -> Result<(&Root, PathBuf), WorkspaceError> {
        let missing = || WorkspaceError::NotFound(path.to_owned());
        let (root, name) = self.root(path).ok_or_else(missing)?;
        let is_plain = |part: &str| {
            !part.is_empty()
                && part.len() <= NAME_BYTES
                && !part.starts_with('.')
                && !part.contains(|letter: char| letter == '\\' || letter == ':' || letter.is_control())
        };
        let parts: Vec<&str> = name.split('/').collect();
        let is_source = SourceKind::of(Path::new(name)) == Some(SourceKind::Flow);
        let is_inside = root.named.contains(name)
            || parts.first() == Some(&FLOWS) && parts.len() > 1
            || parts.len() == 1 && !root.folder.join(FLOWS).is_dir();
        if !is_source || !is_inside || parts.len() > DEPTH || !parts.iter().all(|part| is_plain(part)) {
            return Err(missing());
        }
        let mut file = root.folder.clone();
        for part in parts {
            file.push(part);
            match std::fs::symlink_metadata(&file) {
                Ok(found) if found.file_type().is_symlink() => return Err(missing()),
                _ => {}
            }
        }
        Ok((root, file))
    }

    fn project(&self, file: &Path) -> Result<Project, WorkspaceError> {
        let project = self.named.project(file, &mut Sources::new(), &mut Vec::new());
        project.map_err(|stop| failed(&stop))
    }

    fn described(&self, root: &Root) -> Option<WorkspaceProject> {
        let project = self.project(&root.folder.join("flow.yaml")).ok()?;
        let model = project.settings.default_model.as_ref();
        let model = model.map(|model| format!("{}/{}", model.provider, model.name));
        Some(WorkspaceProject {
            id: root.id.clone(),
            tenant: project.tenant().to_owned(),
            repo: project.repo(),
            policy: project.policy_ref(),
            model: model.or_else(|| self.replay.as_ref().map(|_| "recorded".to_owned())),
        })
    }

    /// The file that a project's gateway writes its records to, when it is there.
    fn gateway_file(&self, project: &str) -> Option<PathBuf> {
        let root = self.roots.iter().find(|root| root.id == project)?;
        let folder = self.state_dir.clone().unwrap_or_else(|| root.folder.join(".stave"));
        Some(folder.join(stave_gateway::database::FILE)).filter(|file| file.is_file())
    }

    /// Serves what changed, as the watcher would a moment later.
    fn reload(&self) {
        let Some((server, runtime)) = self.server.get() else { return };
        // Clients are made inside the asynchronous runtime.
        let _inside = runtime.enter();
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        match flows.load(Some(&server.catalog())) {
            Ok(loaded) if loaded.is_changed => server.exchange(loaded.catalog),
            Ok(_) => {}
            Err(stop) => self.log.stop("reload-failed", &stop),
        }
    }
}

impl Workspace for ProjectWorkspace {
    fn projects(&self) -> Vec<WorkspaceProject> {
        self.roots.iter().filter_map(|root| self.described(root)).collect()
    }

    fn files(&self) -> Vec<WorkspaceFile> {
        let mut files = Vec::new();
        for root in &self.roots {
            let mut names = root.named.clone();
            let folder = root.folder.join(FLOWS);
            let (start, depth) = if folder.is_dir() { (folder, DEPTH) } else { (root.folder.clone(), 1) };
            collect(&root.folder, &start, depth, &mut names);
            let listed = names.iter().map(|name| format!("{}{name}", root.prefix));
            // What was named and is gone, or a link, is not listed.
            let there = listed.filter(|path| self.resolve(path).is_ok_and(|(_, file)| file.is_file()));
            files.extend(there.map(|path| WorkspaceFile { path, project: root.id.clone() }));
        }
        files
    }

    fn project_of(&self, path: &str) -> Option<WorkspaceProject> {
        let (root, _) = self.root(path)?;
        self.described(root)
    }

    fn read(&self, path: &str) -> Result<String, WorkspaceError> {
        let (_, file) = self.resolve(path)?;
        let bytes = files::read_plain(&file, FILE_BYTES).map_err(|error| match error {
            ReadError::TooLarge(_) => WorkspaceError::NotText,
            ReadError::Io(_) | ReadError::NotPlain(_) => WorkspaceError::NotFound(path.to_owned()),
        })?;
        String::from_utf8(bytes).map_err(|_| WorkspaceError::NotText)
    }

    fn write(&self, path: &str, text: &str, hash: Option<&str>) -> Result<(), WorkspaceError> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, file) = self.resolve(path)?;
        let before = match self.read(path) {
            Ok(before) => Some(prefixed_sha256(before)),
            Err(WorkspaceError::NotFound(_)) if !file.exists() => None,
            Err(error) => return Err(error),
        };
        // A writer that did not hear the answer asks again: its text is there already, whatever it had read.
        if before.as_deref() != Some(prefixed_sha256(text).as_str()) {
            if before.as_deref() != hash {
                return Err(WorkspaceError::Changed(before));
            }
            files::write_atomic(&file, text).map_err(|stop| failed(&stop))?;
        }
        drop(writing);
        self.reload();
        Ok(())
    }

    fn options(&self, path: Option<&str>) -> CheckOptions {
        let file = path.and_then(|path| self.resolve(path).ok()).map(|(_, file)| file);
        let project = file.and_then(|file| self.project(&file).ok());
        project.and_then(|project| project.check_options(false).ok()).unwrap_or_default()
    }

    fn compile(
        &self,
        path: &str,
        text: &str,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<CompiledLines, WorkspaceError> {
        let (_, file) = self.resolve(path)?;
        let project = self.project(&file)?;
        let preview = stave_compile::preview(&file, text, project, is_wanted);
        let preview = match preview.map_err(|stop| failed(&stop))? {
            Previewed::Lines(preview) => preview,
            Previewed::Invalid(diagnostics) => return Err(WorkspaceError::Invalid(diagnostics)),
            Previewed::Unwanted => return Err(WorkspaceError::Unwanted),
        };
        Ok(CompiledLines {
            exec: preview.exec,
            system: preview.system,
            bundle: preview.bundle,
            manifest: preview.manifest,
            fingerprints: preview.fingerprints,
        })
    }

    fn model(&self, path: &str, text: &str) -> Result<Arc<ServedFlow>, WorkspaceError> {
        let (_, file) = self.resolve(path)?;
        // A text that takes long does not hold up the others, nor what changes on disk.
        let made = self.named.lowered(&files::shown(&file), text).map_err(|stop| failed(&stop))?;
        let lowered = match made {
            LoweredText::Flow(lowered) => lowered,
            LoweredText::Invalid(diagnostics) => return Err(WorkspaceError::Invalid(diagnostics)),
        };
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        flows.served_as(lowered).map_err(|stop| failed(&stop))
    }

    fn ask(&self, path: &str, text: &str, wish: &str) -> Result<Vec<FlowEdit>, WorkspaceError> {
        let (_, file) = self.resolve(path)?;
        let project = self.project(&file)?;
        let options = project.check_options(false).map_err(|stop| failed(&stop))?;
        edit_model::ask(self.replay.as_deref(), &project, text, wish, &options).map_err(|stop| {
            match stop.exit {
                Exit::Refused => WorkspaceError::Refused(said(&stop)),
                _ => WorkspaceError::Upstream(said(&stop)),
            }
        })
    }

    fn has_gateway(&self, project: &str) -> bool {
        self.gateway_file(project).is_some()
    }

    fn gateway(
        &self,
        project: &str,
        tenant: Option<&str>,
        (since, until): (Timestamp, Timestamp),
        by: &str,
    ) -> Result<Option<Value>, WorkspaceError> {
        let Some(file) = self.gateway_file(project) else { return Ok(None) };
        let by = match by {
            "session" => By::Session,
            "key" => By::Key,
            "upstream" => By::Upstream,
            _ => By::Model,
        };
        let query = StatsQuery {
            since: Some(since),
            until,
            tenant: tenant.map(str::to_owned),
            by,
            top: GATEWAY_ROWS,
        };
        let stats = Stats::of_file(&file, &query);
        stats.map(|stats| Some(stats.to_value())).map_err(|error| WorkspaceError::Failed(error.to_string()))
    }

    fn path_of(&self, source_file: &str) -> Option<String> {
        let here = Path::new(source_file).canonicalize().ok();
        let below = || self.roots.iter().find_map(|root| root.folder.join(source_file).canonicalize().ok());
        let file = here.or_else(below)?;
        let found = self.roots.iter().find_map(|root| {
            let name = relative(&root.folder, &file)?;
            Some(format!("{}{name}", root.prefix))
        })?;
        self.resolve(&found).is_ok().then_some(found)
    }
}

/// Adds the names of the flow files below a folder.
fn collect(root: &Path, folder: &Path, depth: usize, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if names.len() >= MOST_FILES {
            return;
        }
        let path = entry.path();
        // A link is no file of the project, wherever it leads.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 1 {
            collect(root, &path, depth - 1, names);
        } else if kind.is_file() && SourceKind::of(&path) == Some(SourceKind::Flow) {
            names.extend(relative(root, &path));
        }
    }
}

/// The name of a file below a folder, with slashes.
fn relative(folder: &Path, file: &Path) -> Option<String> {
    let name = file.strip_prefix(folder).ok()?;
    let parts: Option<Vec<&str>> = name.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

fn said(stop: &Stop) -> String {
    match &stop.help {
        Some(help) => format!("{}; {help}", stop.message),
        None => stop.message.clone(),
    }
}

fn failed(stop: &Stop) -> WorkspaceError {
    match stop.exit {
        Exit::Refused => WorkspaceError::Refused(said(stop)),
        _ => WorkspaceError::Failed(said(stop)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{LogFormat, LogLevel};
    use crate::terminal::Terminal;
    use stave_diag::render::Colour;

    const TERMINAL: Terminal = Terminal { stdout: Colour::Never, stderr: Colour::Never, is_live: false };

    fn workspace(folder: &Path) -> ProjectWorkspace {
        let log = Log::start(LogFormat::Text, LogLevel::Error, TERMINAL).unwrap();
        let flows = Arc::new(Mutex::new(Flows::none(TERMINAL)));
        ProjectWorkspace::new(&[folder.join("flows/a.yaml")], flows, &Serve::default(), log)
    }

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("stave.toml", "[project]\ntenant = \"acme\"\n"),
            ("flows/a.yaml", "version: \"1.0\"\n"),
            ("flows/deep/b.yml", "x: 1\n"),
            ("flows/notes.txt", "no flow\n"),
            ("policies/default.yaml", "secret: 1\n"),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn a_path_leads_to_a_flow_file_of_the_project_or_nowhere() {
        let folder = project();
        let workspace = workspace(folder.path());
        let paths: Vec<String> = workspace.files().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["flows/a.yaml", "flows/deep/b.yml"]);
        assert_eq!(workspace.read("flows/deep/b.yml").unwrap(), "x: 1\n");
        for path in [
            "flows/../policies/default.yaml",
            "policies/default.yaml",
            "../a.yaml",
            "/etc/passwd",
            "flows/notes.txt",
            "flows//a.yaml",
            "flows/./a.yaml",
            "flows\\a.yaml",
            "flows/.hidden.yaml",
            "flows",
            "",
            "flows/deep",
            "flows/a.yaml/b.yaml",
            "flows/none.yaml",
        ] {
            assert!(matches!(workspace.read(path), Err(WorkspaceError::NotFound(_))), "{path}");
            let written = workspace.write(path, "x", Some("sha256:none"));
            assert!(written.is_err(), "{path}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn no_link_is_followed() {
        let (folder, outside) = (project(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("o.yaml"), "secret: 1\n").unwrap();
        let link = |from: &str, to: &Path| std::os::unix::fs::symlink(to, folder.path().join(from)).unwrap();
        link("flows/l.yaml", &outside.path().join("o.yaml"));
        link("flows/out", outside.path());
        link("flows/again.yaml", &folder.path().join("flows/a.yaml"));
        let workspace = workspace(folder.path());
        for path in ["flows/l.yaml", "flows/out/o.yaml", "flows/again.yaml", "flows/out/new.yaml"] {
            assert!(matches!(workspace.read(path), Err(WorkspaceError::NotFound(_))), "{path}");
            assert!(matches!(workspace.write(path, "x", None), Err(WorkspaceError::NotFound(_))), "{path}");
            assert!(!workspace.files().iter().any(|file| file.path == path), "{path}");
        }
        assert!(!outside.path().join("new.yaml").exists());
    }

    #[test]
    fn a_file_is_replaced_when_it_is_what_was_read() {
        let folder = project();
        let workspace = workspace(folder.path());
        let hash = prefixed_sha256(workspace.read("flows/a.yaml").unwrap());
        workspace.write("flows/a.yaml", "second\n", Some(&hash)).unwrap();
        let again = workspace.write("flows/a.yaml", "third\n", Some(&hash));
        let now = prefixed_sha256("second\n");
        assert!(matches!(again, Err(WorkspaceError::Changed(Some(found))) if found == now));
        assert!(matches!(workspace.write("flows/a.yaml", "x", None), Err(WorkspaceError::Changed(Some(_)))));
        workspace.write("flows/new.yaml", "made\n", None).unwrap();
        assert_eq!(workspace.read("flows/new.yaml").unwrap(), "made\n");
        let gone = workspace.write("flows/gone.yaml", "x", Some(&hash));
        assert!(matches!(gone, Err(WorkspaceError::Changed(None))));
        assert_eq!(workspace.path_of("flows/new.yaml").as_deref(), Some("flows/new.yaml"));
        assert_eq!(workspace.path_of("policies/default.yaml"), None);
    }
}
