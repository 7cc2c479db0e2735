//! `stave features`: rows of features from tables, and what is known of a key at a time.

mod arguments;
mod import;
mod read;

use std::path::Path;
use std::sync::Arc;

use stave_diag::Sources;
use stave_runtime::features::{FeatureGroup, FeatureStore};

pub(crate) use arguments::Features;

use self::arguments::{FeaturesCommand, Place};
use crate::exit::{Exit, Stop};
use crate::project::{self, Project};
use crate::{features as project_features, state_folder, storage};

pub(crate) fn features(arguments: &Features) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    runtime.block_on(async {
        match &arguments.command {
            FeaturesCommand::Import(import) => import::import(import).await,
            FeaturesCommand::Read(read) => read::read(read).await,
        }
    })
}

/// The feature store of the project that the current folder belongs to, with a group as the caller says it is.
fn store(place: &Place, group: Option<(&str, FeatureGroup)>) -> Result<Arc<dyn FeatureStore>, Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let mut project = Project::of(Path::new(project::FILE), &mut sources, &mut diagnostics)?;
    if let Some((name, group)) = group {
        project.settings.stores.groups.insert(name.to_owned(), group);
    }
    let folder = state_folder::claimed(&project, place.state_dir.as_deref())?;
    let database = storage::database(&folder)?;
    project_features::store(&project, Some(&database))
}

/// How a project keys and times the rows of a group, where it says so.
fn group_of(name: &str) -> Result<FeatureGroup, Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let project = Project::of(Path::new(project::FILE), &mut sources, &mut diagnostics)?;
    Ok(project.settings.stores.groups.get(name).cloned().unwrap_or_default())
}
