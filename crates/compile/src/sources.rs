//! Which files are compiled, and how the outputs name them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_diag::{Diagnostic, SourceId, Sources};
use stave_project::exit::Stop;
use stave_project::files::{self, CheckedText};
use stave_project::source_kind::{SourceKind, paired_policies, stem};
use stave_project::{Project, Reported};

use super::emit;
use super::overlap::OutputFolder;

/// How outputs name their sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourcePaths {
    /// From the project's root, the same wherever it lies.
    Relative,
    Absolute,
}

/// A file to compile, or a policy that a workflow beside it is paired with.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) kind: SourceKind,
    /// As outputs name it.
    pub(crate) name: String,
    /// Absolute.
    pub(crate) path: PathBuf,
    pub(crate) text: Arc<str>,
    pub(crate) id: SourceId,
    pub(crate) project: Arc<Project>,
}

/// Reads every source that the paths stand for, in the order of their absolute paths, each once. Projects'
/// own mistakes are added to `diagnostics`.
pub(crate) fn read(
    paths: &[PathBuf],
    out: &Path,
    shown: SourcePaths,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Vec<SourceFile>, Stop> {
    let found = find(paths, out)?;
    let common = common_folder(&found);
    let mut projects: HashMap<PathBuf, Arc<Project>> = HashMap::new();
    let mut reported = Reported::default();
    let mut read = Vec::with_capacity(found.len());
    for (path, kind) in found {
        let folder = path.parent().unwrap_or(&path).to_path_buf();
        let project = match projects.get(&folder) {
            Some(project) => Arc::clone(project),
            None => {
                let mut from_project = Vec::new();
                let project = Arc::new(Project::of(&path, sources, &mut from_project)?);
                diagnostics.extend(reported.fresh(&project, from_project));
                projects.insert(folder, Arc::clone(&project));
                project
            }
        };
        let name = match shown {
            SourcePaths::Absolute => with_slashes(&path),
            SourcePaths::Relative => relative(&path, &project, &common),
        };
        let CheckedText { text, broken_at } = files::read_source(&path)?;
        let text: Arc<str> = text.into();
        let id = sources.add(files::shown(&path).display().to_string(), Arc::clone(&text));
        if let Some(broken_at) = broken_at {
            diagnostics.push(files::not_text(id, broken_at));
            continue;
        }
        read.push(SourceFile { kind, name, path, text, id, project });
    }
    Ok(read)
}

/// The files to compile. What emitters write into the output folder is no source; another file there that could be
/// one is a reason to refuse the folder.
fn find(paths: &[PathBuf], out: &Path) -> Result<Vec<(PathBuf, SourceKind)>, Stop> {
    let mut found = BTreeSet::new();
    let folder = OutputFolder::new(out);
    for path in files::expand(paths)? {
        let absolute = path
            .canonicalize()
            .map_err(|error| Stop::invalid(format!("{} cannot be read: {error}", path.display())))?;
        if let Some(inside) = folder.inside(&absolute) {
            if emit::owned(&inside) && !paths.contains(&path) {
                continue;
            }
            return Err(folder.refuse(&absolute));
        }
        let Some(kind) = SourceKind::of(&absolute) else {
            let stop = Stop::invalid(format!("{} is not a source that can be compiled", path.display()));
            return Err(stop.help("sources end in .yaml, .yml, .wdl or .pdl"));
        };
        found.insert((absolute, kind));
    }
    add_paired_policies(&mut found);
    Ok(found.into_iter().collect())
}

/// A workflow that is named alone still has the policy beside it.
fn add_paired_policies(found: &mut BTreeSet<(PathBuf, SourceKind)>) {
    let workflows = found.iter().filter(|(_, kind)| *kind == SourceKind::Workflow);
    let policies: Vec<PathBuf> = workflows
        .filter(|(path, _)| !has_policy(found, path))
        .flat_map(|(path, _)| paired_policies(path))
        .collect();
    found.extend(policies.into_iter().map(|path| (path, SourceKind::Policy)));
}

/// Whether the policy of a workflow is among the sources under one of its usual names, so that the folder
/// need not be searched.
fn has_policy(found: &BTreeSet<(PathBuf, SourceKind)>, workflow: &Path) -> bool {
    ["pdl", "pdl.yaml", "pdl.yml"].iter().any(|ending| {
        let policy = workflow.with_file_name(format!("{}.{ending}", stem(workflow)));
        found.contains(&(policy, SourceKind::Policy))
    })
}

/// The path from the project's root; without a project file, from the folder that all sources share, so
/// that the same tree gives the same bytes wherever it lies.
fn relative(path: &Path, project: &Project, common: &Path) -> String {
    let root = if project.has_file { project.root.as_path() } else { common };
    path.strip_prefix(root).map_or_else(|_| with_slashes(path), with_slashes)
}

fn common_folder(found: &[(PathBuf, SourceKind)]) -> PathBuf {
    let mut folders = found.iter().filter_map(|(path, _)| path.parent());
    let mut common = folders.next().map(Path::to_path_buf).unwrap_or_default();
    for folder in folders {
        while !folder.starts_with(&common) && common.pop() {}
    }
    common
}

fn with_slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        text.into_owned()
    } else {
        text.replace(std::path::MAIN_SEPARATOR, "/")
    }
}
