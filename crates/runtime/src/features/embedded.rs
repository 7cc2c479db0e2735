//! The embedded feature store: rows that a project's files bring, and rows in its SQLite file.
//!
//! A read takes the newest of both that was known at the time. Writes go to the database; without one they last
//! as long as the process, which is what tests want.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use stave_canon::{Object, Timestamp, Value};

use super::{
    FeatureBatch, FeatureError, FeatureGroup, FeatureQuery, FeatureRow, FeatureStore, ModelQuery, key_text,
};
use crate::database::{Database, DatabaseError};

/// The version of rows whose group has none.
const UNVERSIONED: i64 = 0;

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS feature_row (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    key TEXT NOT NULL,
    event_time INTEGER NOT NULL,
    features TEXT NOT NULL,
    PRIMARY KEY (name, version, key, event_time)
) STRICT, WITHOUT ROWID";

/// The rows of one group: by key, in the order of their time.
type Rows = HashMap<String, BTreeMap<Timestamp, Object>>;

/// Rows and models of a project.
#[derive(Debug, Default)]
pub struct EmbeddedFeatures {
    memory: RwLock<HashMap<String, Rows>>,
    groups: HashMap<String, FeatureGroup>,
    models: HashMap<String, BTreeMap<i64, Object>>,
    database: Option<Arc<Database>>,
}

impl EmbeddedFeatures {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads and writes rows in a database as well.
    #[must_use]
    pub fn with_database(mut self, database: Arc<Database>) -> Self {
        self.database = Some(database);
        self
    }

    /// Adds the rows of a file to a group or view, in any order.
    pub fn insert(&mut self, name: impl Into<String>, rows: impl IntoIterator<Item = FeatureRow>) {
        let memory = self.memory.get_mut().unwrap_or_else(PoisonError::into_inner);
        keep(memory.entry(name.into()).or_default(), rows);
    }

    /// Says how the rows of a group are keyed and timed.
    pub fn define(&mut self, name: impl Into<String>, group: FeatureGroup) {
        self.groups.insert(name.into(), group);
    }

    /// Adds the entry of one version of a model.
    pub fn insert_model(&mut self, name: impl Into<String>, version: i64, entry: Object) {
        self.models.entry(name.into()).or_default().insert(version, entry);
    }

    /// How the rows of a group are keyed and timed.
    #[must_use]
    pub fn group(&self, name: &str) -> FeatureGroup {
        self.groups.get(name).cloned().unwrap_or_default()
    }

    fn in_memory(&self, places: &[(String, i64)], query: &FeatureQuery) -> Found {
        let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
        let unversioned = places.iter().filter(|(_, version)| *version == UNVERSIONED);
        let Some(group) = unversioned.map(|(name, _)| name).find_map(|name| memory.get(name)) else {
            return Found::default();
        };
        let rows = group.get(&key_text(&query.key));
        let newest = rows.and_then(|rows| rows.range(..=query.as_of).next_back());
        Found { known: true, row: newest.map(|(time, features)| (*time, features.clone())) }
    }
}

fn keep(group: &mut Rows, rows: impl IntoIterator<Item = FeatureRow>) {
    for row in rows {
        group.entry(key_text(&row.key)).or_default().insert(row.event_time, row.features);
    }
}

/// What one of the two places has.
#[derive(Debug, Default)]
struct Found {
    /// Whether the place knows the group at all.
    known: bool,
    row: Option<(Timestamp, Object)>,
}

#[async_trait]
impl FeatureStore for EmbeddedFeatures {
    async fn read(&self, query: &FeatureQuery) -> Result<Object, FeatureError> {
        let places = places(query);
        let file = self.in_memory(&places, query);
        let stored = match &self.database {
            None => Found::default(),
            Some(database) => {
                let (key, as_of) = (key_text(&query.key), query.as_of);
                let latest = query.version.is_none();
                database.read(move |connection| stored(connection, &places, latest, &key, as_of)).await?
            }
        };
        if !file.known && !stored.known {
            return Err(FeatureError::UnknownName(query.name.clone()));
        }
        // Of two rows of the same time the stored one is later knowledge.
        let row = match (file.row, stored.row) {
            (Some(file), Some(stored)) => Some(if file.0 > stored.0 { file } else { stored }),
            (file, stored) => stored.or(file),
        };
        let (_, features) = row.ok_or_else(|| query.no_row())?;
        query.select(features)
    }

    async fn write(&self, batch: FeatureBatch) -> Result<usize, FeatureError> {
        let group = self.group(&batch.name);
        let rows = batch.rows.into_iter().enumerate().map(|(index, row)| {
            group.row(row, Some(batch.event_time)).map_err(|reason| FeatureError::BadRow {
                name: batch.name.clone(),
                number: index + 1,
                reason,
            })
        });
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let (name, version) = (batch.name, batch.version.unwrap_or(UNVERSIONED));
        let Some(database) = &self.database else {
            let name = if version == UNVERSIONED { name } else { format!("{name}_v{version}") };
            let written = rows.len();
            let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
            keep(memory.entry(name).or_default(), rows);
            return Ok(written);
        };
        database.write(move |connection| insert(connection, &name, version, &rows)).await
    }

    async fn model(&self, query: &ModelQuery) -> Result<Object, FeatureError> {
        let versions =
            self.models.get(&query.name).ok_or_else(|| FeatureError::UnknownModel(query.name.clone()))?;
        let entry = match query.version {
            None => versions.values().next_back(),
            Some(version) => versions.get(&version),
        };
        entry.cloned().ok_or_else(|| FeatureError::UnknownModelVersion {
            name: query.name.clone(),
            version: query.version.unwrap_or_default(),
        })
    }
}

/// Where the rows of a group may be, the most exact place first. A version may be part of a group's name.
fn places(query: &FeatureQuery) -> Vec<(String, i64)> {
    let mut places = Vec::with_capacity(3);
    if let Some(version) = query.version {
        places.push((query.name.clone(), version));
        places.push((format!("{}_v{version}", query.name), UNVERSIONED));
    }
    places.push((query.name.clone(), UNVERSIONED));
    places
}

fn stored(
    connection: &Connection,
    places: &[(String, i64)],
    latest: bool,
    key: &str,
    as_of: Timestamp,
) -> Result<Found, FeatureError> {
    let exists = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'feature_row'";
    if connection.prepare_cached(exists)?.query_row([], |_| Ok(())).optional()?.is_none() {
        return Ok(Found::default());
    }
    for (name, version) in places {
        let version = if latest { newest_version(connection, name)? } else { Some(*version) };
        let Some(version) = version else { continue };
        let known = connection
            .prepare_cached("SELECT 1 FROM feature_row WHERE name = ?1 AND version = ?2 LIMIT 1")?
            .query_row(params![name, version], |_| Ok(()))
            .optional()?;
        if known.is_none() {
            continue;
        }
        let row: Option<(i64, String)> = connection
            .prepare_cached(
                "SELECT event_time, features FROM feature_row
                 WHERE name = ?1 AND version = ?2 AND key = ?3 AND event_time <= ?4
                 ORDER BY event_time DESC LIMIT 1",
            )?
            .query_row(params![name, version, key, nanoseconds(as_of)], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let row = row.map(|(time, text)| read_row(time, &text)).transpose()?;
        return Ok(Found { known: true, row });
    }
    Ok(Found::default())
}

fn newest_version(connection: &Connection, name: &str) -> Result<Option<i64>, FeatureError> {
    let newest = connection
        .prepare_cached("SELECT max(version) FROM feature_row WHERE name = ?1")?
        .query_row(params![name], |row| row.get(0))?;
    Ok(newest)
}

fn read_row(time: i64, text: &str) -> Result<(Timestamp, Object), FeatureError> {
    let damaged = |reason: String| FeatureError::Store(format!("a row is damaged: {reason}"));
    let time = Timestamp::from_nanosecond(time.into()).map_err(|error| damaged(error.to_string()))?;
    match stave_canon::parse(text) {
        Ok(Value::Object(features)) => Ok((time, features)),
        Ok(_) => Err(damaged("its features are not an object".to_owned())),
        Err(error) => Err(damaged(error.to_string())),
    }
}

fn insert(
    connection: &Connection,
    name: &str,
    version: i64,
    rows: &[FeatureRow],
) -> Result<usize, FeatureError> {
    connection.execute_batch(TABLE)?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO feature_row (name, version, key, event_time, features) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET features = excluded.features",
    )?;
    for row in rows {
        let features = Value::Object(row.features.clone()).to_string();
        statement.execute(params![
            name,
            version,
            key_text(&row.key),
            nanoseconds(row.event_time),
            features
        ])?;
    }
    Ok(rows.len())
}

/// Times beyond the years 1677 to 2262 are held at the ends of what a column can order.
fn nanoseconds(time: Timestamp) -> i64 {
    let time = time.as_nanosecond();
    i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX })
}

impl From<rusqlite::Error> for FeatureError {
    fn from(error: rusqlite::Error) -> Self {
        FeatureError::Store(error.to_string())
    }
}

impl From<DatabaseError> for FeatureError {
    fn from(error: DatabaseError) -> Self {
        FeatureError::Store(error.to_string())
    }
}
