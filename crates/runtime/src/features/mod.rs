//! The feature store port: rows of a key over time, and entries of models.
//!
//! Invariant: a read never sees a row whose time lies after the time it asks for, whatever store serves it.

mod embedded;
mod row;

use async_trait::async_trait;
use stave_canon::{Object, Timestamp, Value};

pub use embedded::EmbeddedFeatures;
pub use row::{FeatureGroup, FeatureRow, key_text};

/// Which row a step wants.
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

/// Rows that a step writes.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureBatch {
    /// The name of a feature group.
    pub name: String,
    pub version: Option<i64>,
    pub rows: Vec<Object>,
    /// The time of the rows that do not bring their own.
    pub event_time: Timestamp,
}

/// Which entry of a model a step wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQuery {
    pub name: String,
    /// `None` wants the latest.
    pub version: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureError {
    #[error("there is no feature group or view named `{0}`")]
    UnknownName(String),
    #[error("`{name}` has no row for {key} as of {as_of}")]
    NoRow { name: String, key: String, as_of: String },
    #[error("`{name}` has no feature `{feature}`")]
    UnknownFeature { name: String, feature: String },
    #[error("row {number} of `{name}`: {reason}")]
    BadRow { name: String, number: usize, reason: String },
    #[error("there is no model named `{0}`")]
    UnknownModel(String),
    #[error("the model `{name}` has no version {version}")]
    UnknownModelVersion { name: String, version: i64 },
    #[error("the feature store failed: {0}")]
    Store(String),
}

/// Where features come from and go to.
#[async_trait]
pub trait FeatureStore: Send + Sync + std::fmt::Debug {
    /// The newest row of the key that was known at `as_of`.
    async fn read(&self, query: &FeatureQuery) -> Result<Object, FeatureError>;

    /// Writes all rows, or none, and says how many. A row of the same key and time is replaced, so that a
    /// write that is repeated is a write that was made once.
    async fn write(&self, batch: FeatureBatch) -> Result<usize, FeatureError>;

    /// What the registry knows about a model.
    async fn model(&self, query: &ModelQuery) -> Result<Object, FeatureError>;
}

impl FeatureQuery {
    /// The features wanted of a row.
    pub fn select(&self, mut row: Object) -> Result<Object, FeatureError> {
        if self.features.is_empty() {
            return Ok(row);
        }
        let wanted = self.features.iter().map(|feature| {
            let value = row.shift_remove(feature).ok_or_else(|| FeatureError::UnknownFeature {
                name: self.name.clone(),
                feature: feature.clone(),
            })?;
            Ok((feature.clone(), value))
        });
        wanted.collect()
    }

    /// Why there is no row.
    #[must_use]
    pub fn no_row(&self) -> FeatureError {
        FeatureError::NoRow {
            name: self.name.clone(),
            key: self.key.to_string(),
            as_of: self.as_of.to_string(),
        }
    }
}

impl FeatureError {
    /// Whether what was asked for is not there, as opposed to a store that could not answer.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        !matches!(self, FeatureError::BadRow { .. } | FeatureError::Store(_))
    }
}
