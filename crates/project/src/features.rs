//! The features of a project: rows in `features/`, models in `models/`, the project's database, or a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_runtime::database::Database;
use stave_runtime::features::{EmbeddedFeatures, FeatureGroup, FeatureRow, FeatureStore};

use crate::exit::Stop;
use crate::files;
use crate::project::Project;

/// The feature store of a project.
pub fn store(project: &Project, database: Option<&Arc<Database>>) -> Result<Arc<dyn FeatureStore>, Stop> {
    let embedded = Arc::new(embedded(project, database)?);
    match project.hopsworks_address() {
        Some(address) => online(project, &address, embedded),
        None => Ok(embedded),
    }
}

/// The store on a server.
#[cfg(feature = "mysql")]
fn online(
    project: &Project,
    address: &str,
    embedded: Arc<EmbeddedFeatures>,
) -> Result<Arc<dyn FeatureStore>, Stop> {
    let groups = project.settings.stores.groups.clone().into_iter().collect();
    Ok(Arc::new(stave_stores::MysqlFeatures::new(crate::storage::mysql(address)?, groups, embedded)))
}

#[cfg(not(feature = "mysql"))]
fn online(_: &Project, _: &str, _: Arc<EmbeddedFeatures>) -> Result<Arc<dyn FeatureStore>, Stop> {
    Err(Stop::without_feature("mysql", "an online feature store"))
}

/// The store in the project's own files.
pub fn embedded(project: &Project, database: Option<&Arc<Database>>) -> Result<EmbeddedFeatures, Stop> {
    let mut store = EmbeddedFeatures::new();
    if let Some(database) = database {
        store = store.with_database(Arc::clone(database));
    }
    for (name, group) in &project.settings.stores.groups {
        store.define(name.clone(), group.clone());
    }
    for path in files_with(&project.root.join("features"), "jsonl") {
        let name = stem(&path);
        let rows = rows(&path, &store.group(&name))?;
        store.insert(name, rows);
    }
    for path in files_with(&project.root.join("models"), "json") {
        for (version, entry) in models(&path)? {
            let name = entry.get("name").and_then(Value::as_str).map_or_else(|| stem(&path), str::to_owned);
            store.insert_model(name, version, entry);
        }
    }
    Ok(store)
}

/// The rows of a file with one JSON object a line.
fn rows(path: &Path, group: &FeatureGroup) -> Result<Vec<FeatureRow>, Stop> {
    let text = files::read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let rows = lines.map(|(index, line)| {
        row(line, group).map_err(|reason| {
            Stop::invalid(format!("{}:{}: {reason}", path.display(), index + 1))
                .help("a row is {\"key\": …, \"event_time\": \"2026-01-01T00:00:00Z\", \"features\": {…}}")
        })
    });
    rows.collect()
}

fn row(line: &str, group: &FeatureGroup) -> Result<FeatureRow, String> {
    match stave_canon::parse(line) {
        Ok(Value::Object(members)) => group.row(members, None),
        Ok(other) => Err(format!("a row must be an object, not {}", other.kind())),
        Err(error) => Err(format!("the row is not JSON: {error}")),
    }
}

/// The versions of a model: one object, or a list of them.
fn models(path: &Path) -> Result<Vec<(i64, Object)>, Stop> {
    let bad = |reason: String| {
        Stop::invalid(format!("{}: {reason}", path.display()))
            .help("a model is {\"name\": …, \"version\": 1, …}, and a file holds one or a list of them")
    };
    let value = stave_canon::parse(&files::read_text(path)?).map_err(|error| bad(error.to_string()))?;
    let entries = match value {
        Value::Array(entries) => entries,
        entry => vec![entry],
    };
    let entries = entries.into_iter().map(|entry| match entry {
        Value::Object(entry) => {
            let version = entry.get("version").and_then(Value::as_i64);
            version.map(|version| (version, entry)).ok_or_else(|| bad("a model has no `version`".to_owned()))
        }
        other => Err(bad(format!("a model must be an object, not {}", other.kind()))),
    });
    entries.collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of a folder that have an extension, in the order of their names.
fn files_with(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths
}
