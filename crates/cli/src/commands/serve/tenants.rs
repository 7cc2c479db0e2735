//! What the projects of several tenants may read in one process.
//!
//! Invariants: as soon as projects of two tenants are served, the environment of the process is closed to all of them, for
//! as long as the process lives: it cannot be known whose a variable is. No folder of secrets serves two tenants.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::exit::Stop;
use crate::project::{Environment, Project};

/// Closes the environment when there are several tenants. Gives whether it was open until now.
pub(super) fn close_environment(projects: &[Project], environment: &Environment) -> bool {
    let tenants: BTreeSet<&str> = projects.iter().map(Project::tenant).collect();
    let closes = tenants.len() > 1 && !environment.is_closed();
    if closes {
        environment.close();
    }
    closes
}

/// Refuses folders of secrets that two tenants would share.
pub(super) fn separate_secrets(projects: &[Project]) -> Result<(), Stop> {
    let folder = |project: &Project| -> Option<PathBuf> {
        let folder = project.secrets_folder()?;
        Some(folder.canonicalize().unwrap_or(folder))
    };
    let folders: Vec<(&str, PathBuf)> =
        projects.iter().filter_map(|project| Some((project.tenant(), folder(project)?))).collect();
    for (tenant, own) in &folders {
        let shared = |(other, folder): &&(&str, PathBuf)| other != tenant && folder.starts_with(own);
        if let Some((other, folder)) = folders.iter().find(shared) {
            let folder = folder.display();
            return Err(Stop::invalid(format!(
                "tenants `{tenant}` and `{other}` share the secrets in {folder}"
            ))
            .help("give each its own `[secrets] folder`"));
        }
    }
    Ok(())
}
