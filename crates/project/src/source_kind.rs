//! What a file holds, told by its name.

use std::path::{Path, PathBuf};

use stave_exec::wdl;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceKind {
    /// A flow in YAML.
    Flow,
    /// A workflow in WDL.
    Workflow,
    /// A policy in PDL.
    Policy,
}

impl SourceKind {
    /// The kind of a source file; `None` for names that are no source.
    pub fn of(path: &Path) -> Option<SourceKind> {
        let name = path.file_name()?.to_str()?;
        match wdl::FileKind::of(name) {
            Some(wdl::FileKind::Workflow) => Some(SourceKind::Workflow),
            Some(wdl::FileKind::Policy) => Some(SourceKind::Policy),
            None => {
                let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
                is_yaml.then_some(SourceKind::Flow)
            }
        }
    }
}

/// The policies beside a workflow that have its name, in a stable order.
pub fn paired_policies(workflow: &Path) -> Vec<PathBuf> {
    let folder = workflow.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| SourceKind::of(path) == Some(SourceKind::Policy) && stem(path) == stem(workflow))
        .collect();
    found.sort();
    found
}

/// The part of a name that pairs a workflow with its policy.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    wdl::stem(&name).to_owned()
}

/// Flows may be JSON too; an exec document is one that has a graph, or a `.ir.json` file.
pub fn is_exec_document(file: &Path, text: &str) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".ir.json") {
        return true;
    }
    name.ends_with(".json") && stave_canon::parse(text).is_ok_and(|value| value.get("graph").is_some())
}
