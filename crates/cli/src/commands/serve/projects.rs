//! Project files that change while their flows are served.
//!
//! Invariant: the settings of a project are taken as a whole or not at all. A flow that does not fit the new ones is not
//! served: under the old ones it could still do what the project no longer allows.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use stave_diag::{Diagnostic, Sources};

use super::flows::Flows;
use crate::exit::Stop;
use crate::files;
use crate::project::{self, Project};

/// What came of reading the project files again, by the file of each flow.
#[derive(Debug, Default)]
pub(super) struct Reread {
    /// The flows whose project has other settings now.
    pub(super) changed: HashSet<PathBuf>,
    /// The flows whose project changed in a way that only a new server can take, with the setting.
    pub(super) held: BTreeMap<PathBuf, &'static str>,
}

impl Flows {
    /// Takes the settings that the projects of these files have now. What is wrong with a project file is reported with
    /// its flows, which stay as they were.
    pub(super) fn reread_projects(&mut self, files: &[PathBuf]) -> Reread {
        let mut reread = Reread::default();
        let mut applied: HashSet<PathBuf> = HashSet::new();
        for file in files {
            let mut diagnostics = Vec::new();
            let Ok(project) = self.project(file, &mut Sources::new(), &mut diagnostics) else { continue };
            if diagnostics.iter().any(Diagnostic::is_error) {
                continue;
            }
            let root = project.root.clone();
            let known = self.roots.get(file).unwrap_or(&root);
            let Some(engines) = self.engines.get(known) else { continue };
            let served = engines.applied();
            if let Some(setting) = only_at_start(&served.project, &project) {
                reread.held.insert(file.clone(), setting);
                continue;
            }
            let has_other_secrets = served.secrets != project.secrets_digest();
            let has_other_bundles = served.bundles != project.bundle_digest();
            if served.project.settings != project.settings || has_other_secrets || has_other_bundles {
                let models = self.models(&project);
                engines.apply(project, models);
                applied.insert(root.clone());
            }
            if applied.contains(&root) {
                reread.changed.insert(file.clone());
            }
        }
        reread
    }

    /// The project files that decide how these flows are served, and the folders of their secrets.
    pub(super) fn project_files(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let applied = || self.engines.values().map(|engines| engines.applied());
        let files = self.engines.keys().map(|root| root.join(project::FILE));
        let bundles = applied().flat_map(|applied| applied.project.bundle_files());
        (
            files.chain(bundles).collect(),
            applied().filter_map(|applied| applied.project.secrets_folder()).collect(),
        )
    }
}

/// A setting that differs and is read only when the server starts.
fn only_at_start(served: &Project, now: &Project) -> Option<&'static str> {
    let (old, new) = (&served.settings, &now.settings);
    if served.root != now.root || served.has_file != now.has_file {
        return Some("which project file there is");
    }
    [
        (served.tenant() != now.tenant(), "`[project] tenant`"),
        (served.repo() != now.repo(), "`[project] repo`"),
        (old.engine != new.engine, "`[engine]`"),
        (old.journal != new.journal, "`[journal]`"),
        (old.telemetry != new.telemetry, "`[telemetry]`"),
    ]
    .into_iter()
    .find_map(|(differs, setting)| differs.then_some(setting))
}

/// A flow whose project can be taken only by a new server.
pub(super) fn needs_restart(file: &Path, setting: &str) -> Stop {
    let message = format!(
        "{}: the changed project file is not used, because a running server cannot change {setting}",
        files::shown(file).display()
    );
    Stop::invalid(message).help("restart the server, or take the change back")
}
