//! Plugins: transformations of a Prompt IR between governance and compilation.
//!
//! A plugin sees the prompt by reference and returns a changed copy, so the original cannot be touched.
//! The pipeline, not the plugin, takes the hashes of the record: a record cannot lie.

mod budget_optimizer;
mod context_digest;

pub use budget_optimizer::{BudgetOptimizer, adjusted_budget};
pub use context_digest::{CheapModel, ContextDigest};

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::{Ids, Value};
use stave_shape::Shape;
use thiserror::Error;

use crate::{CreatedAt, PromptIr, ShortHash, short_hash};

/// Changes a prompt, or leaves it alone.
pub trait Plugin: Send + Sync + std::fmt::Debug {
    /// The name that records carry as `applied_by`.
    fn name(&self) -> &str;

    /// Whether the plugin ends its work itself when its time is over. The pipeline measures all others.
    fn bounds_its_time(&self) -> bool {
        false
    }

    /// The changed copy, made with [`PromptIr::clone_with_id`]; `None` when there is nothing to change.
    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<PluginChange>, PluginError>;
}

/// What happens to a prompt whose plugin fails: it raises, takes too long or returns something that is not a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Shape)]
#[shape(words)]
pub enum OnPluginFailure {
    /// The plugin is skipped and noted.
    #[default]
    Continue,
    /// The prompt is refused.
    Refuse,
}

/// How long a plugin may take unless told otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// A plugin with what its user decided about it.
#[derive(Debug, Clone)]
pub struct ConfiguredPlugin {
    pub plugin: Arc<dyn Plugin>,
    /// How long it may take. What a slower plugin made is left out, and the plugin has failed.
    pub timeout: Duration,
    pub on_failure: OnPluginFailure,
}

impl ConfiguredPlugin {
    /// A plugin that is skipped when it fails or takes longer than usual.
    #[must_use]
    pub fn new(plugin: Arc<dyn Plugin>) -> Self {
        ConfiguredPlugin { plugin, timeout: DEFAULT_TIMEOUT, on_failure: OnPluginFailure::default() }
    }
}

/// What a plugin did.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginChange {
    pub ir: PromptIr,
    /// For example `context_digest`.
    pub transformation_type: Cow<'static, str>,
    /// What changed, for people.
    pub description: String,
}

impl PluginChange {
    #[must_use]
    pub fn new(
        ir: PromptIr,
        transformation_type: impl Into<Cow<'static, str>>,
        description: impl Into<String>,
    ) -> Self {
        PluginChange { ir, transformation_type: transformation_type.into(), description: description.into() }
    }
}

/// Why a plugin could not do its work. [`OnPluginFailure`] says what follows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PluginError(pub String);

/// A plugin that cannot be made from its name and configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PluginConfigError {
    #[error("there is no plugin {0:?}")]
    UnknownPlugin(String),
    #[error("{plugin}: `{key}` must be {expected}, not {found}")]
    WrongType { plugin: &'static str, key: &'static str, expected: &'static str, found: &'static str },
}

/// The audit record of one transformation.
#[derive(Debug, Clone, PartialEq)]
pub struct IrTransformation {
    pub transformation_type: Cow<'static, str>,
    pub description: String,
    pub before_hash: ShortHash,
    pub after_hash: ShortHash,
    pub applied_by: Arc<str>,
    pub timestamp: CreatedAt,
}

impl IrTransformation {
    /// The record of `change`, which `plugin` made of `before`.
    #[must_use]
    pub fn new(before: &PromptIr, change: &PluginChange, plugin: &dyn Plugin, timestamp: CreatedAt) -> Self {
        IrTransformation {
            transformation_type: change.transformation_type.clone(),
            description: change.description.clone(),
            before_hash: short_hash(before),
            after_hash: short_hash(&change.ir),
            applied_by: plugin.name().into(),
            timestamp,
        }
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::from_iter([
            ("transformation_type", Value::from(&*self.transformation_type)),
            ("description", self.description.as_str().into()),
            ("before_hash", self.before_hash.into()),
            ("after_hash", self.after_hash.into()),
            ("applied_by", (&*self.applied_by).into()),
            ("timestamp", self.timestamp.to_string().into()),
        ])
    }
}

/// The built-in plugin of a name, with its configuration (`null` for the defaults).
pub fn from_config(name: &str, config: &Value) -> Result<Box<dyn Plugin>, PluginConfigError> {
    match name {
        ContextDigest::NAME => Ok(Box::new(ContextDigest::from_config(config)?)),
        BudgetOptimizer::NAME => Ok(Box::new(BudgetOptimizer::default())),
        _ => Err(PluginConfigError::UnknownPlugin(name.to_owned())),
    }
}
