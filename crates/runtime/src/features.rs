//! The feature store port, and the embedded one that serves rows from memory.

use std::collections::HashMap;

use async_trait::async_trait;
use stave_canon::{Object, Timestamp, Value};

/// Which rows a step wants.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureQuery {
    /// The name of a feature group or a feature view.
    pub name: String,
    pub version: Option<i64>,
    /// The primary key: a scalar, or an object of column values.
    pub key: Value,
    /// Rows that became known later are not seen.
    pub as_of: Timestamp,
    /// The features wanted; empty wants all of them.
    pub features: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureError {
    #[error("there is no feature group or view named `{0}`")]
    UnknownName(String),
    #[error("`{name}` has no row for {key} as of {as_of}")]
    NoRow { name: String, key: String, as_of: String },
    #[error("`{name}` has no feature `{feature}`")]
    UnknownFeature { name: String, feature: String },
}

/// Where features come from.
#[async_trait]
pub trait FeatureStore: Send + Sync + std::fmt::Debug {
    /// The newest row of the key that was known at `as_of`.
    async fn read(&self, query: &FeatureQuery) -> Result<Object, FeatureError>;
}

/// One row of the embedded store.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRow {
    pub key: Value,
    pub event_time: Timestamp,
    pub features: Object,
}

/// Rows in memory, by group name. A project keeps them in files that the caller reads.
#[derive(Debug, Default)]
pub struct EmbeddedFeatures(HashMap<String, Vec<FeatureRow>>);

impl EmbeddedFeatures {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group or view with its rows, in any order.
    pub fn insert(&mut self, name: impl Into<String>, rows: Vec<FeatureRow>) {
        self.0.entry(name.into()).or_default().extend(rows);
    }
}

#[async_trait]
impl FeatureStore for EmbeddedFeatures {
    async fn read(&self, query: &FeatureQuery) -> Result<Object, FeatureError> {
        let versioned = query.version.map(|version| format!("{}_v{version}", query.name));
        let rows = versioned.as_ref().and_then(|name| self.0.get(name)).or_else(|| self.0.get(&query.name));
        let rows = rows.ok_or_else(|| FeatureError::UnknownName(query.name.clone()))?;
        let known = rows.iter().filter(|row| row.key == query.key && row.event_time <= query.as_of);
        let row = known.max_by_key(|row| row.event_time).ok_or_else(|| FeatureError::NoRow {
            name: query.name.clone(),
            key: query.key.to_string(),
            as_of: query.as_of.to_string(),
        })?;
        if query.features.is_empty() {
            return Ok(row.features.clone());
        }
        let wanted = query.features.iter().map(|feature| {
            let value = row.features.get(feature).cloned();
            let value = value.ok_or_else(|| FeatureError::UnknownFeature {
                name: query.name.clone(),
                feature: feature.clone(),
            })?;
            Ok((feature.clone(), value))
        });
        wanted.collect()
    }
}
