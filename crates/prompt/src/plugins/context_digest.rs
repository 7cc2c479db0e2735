//! Replaces a long list of context references by one digest.

use std::sync::Arc;

use stave_canon::{Ids, Number, Value};

use super::{Plugin, PluginChange, PluginConfigError, PluginError};
use crate::{CONTEXT_DIGEST_MARKER, PromptIr};

/// A small model that writes digests.
pub trait CheapModel: std::fmt::Debug + Send + Sync {
    /// The reply to one message of a user, or why there is none. Whoever implements it bounds the time.
    fn call(&self, message: &str) -> Result<String, String>;
}

/// Compresses the references once there are more than `max_context_refs` of them.
///
/// The digest counts the references and repeats the intent. With a cheap model, that model writes it; when the
/// model fails, the digest is the one that would have been written without it.
#[derive(Debug, Clone)]
pub struct ContextDigest {
    max_context_refs: Number,
    cheap_model: Option<Arc<dyn CheapModel>>,
}

impl ContextDigest {
    pub const NAME: &'static str = "ContextDigestPlugin";
    pub const DEFAULT_MAX_CONTEXT_REFS: i64 = 10;

    #[must_use]
    pub fn new(max_context_refs: i64) -> Self {
        ContextDigest { max_context_refs: Number::Int(max_context_refs), cheap_model: None }
    }

    /// Lets a model write the digests.
    #[must_use]
    pub fn with_cheap_model(mut self, model: Arc<dyn CheapModel>) -> Self {
        self.cheap_model = Some(model);
        self
    }

    /// Reads `{"max_context_refs": number}`; `null` and a missing key mean the default.
    pub fn from_config(config: &Value) -> Result<Self, PluginConfigError> {
        let wrong = |key, expected, found: &Value| PluginConfigError::WrongType {
            plugin: Self::NAME,
            key,
            expected,
            found: found.kind(),
        };
        match config {
            Value::Null => Ok(Self::default()),
            Value::Object(members) => match members.get("max_context_refs") {
                None => Ok(Self::default()),
                Some(Value::Number(limit)) => {
                    Ok(ContextDigest { max_context_refs: limit.clone(), cheap_model: None })
                }
                Some(other) => Err(wrong("max_context_refs", "a number", other)),
            },
            other => Err(wrong("config", "an object or null", other)),
        }
    }

    fn is_exceeded_by(&self, count: usize) -> bool {
        let count = Number::from(count as u64);
        count.compare(&self.max_context_refs).is_some_and(std::cmp::Ordering::is_gt)
    }
}

/// What the cheap model is asked.
fn request(ir: &PromptIr) -> String {
    format!(
        "In at most five sentences, say what these references bring to the task: {}\nReferences: {}",
        ir.intent,
        ir.context_refs.join(", ")
    )
}

impl Default for ContextDigest {
    fn default() -> Self {
        Self::new(Self::DEFAULT_MAX_CONTEXT_REFS)
    }
}

impl Plugin for ContextDigest {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<PluginChange>, PluginError> {
        let count = ir.context_refs.len();
        if !self.is_exceeded_by(count) {
            return Ok(None);
        }
        let mut changed = ir.clone_with_id(ids);
        changed.context_refs = Arc::new(vec![CONTEXT_DIGEST_MARKER.to_owned()]);
        let written = self.cheap_model.as_ref().and_then(|model| model.call(&request(ir)).ok());
        let digest =
            written.unwrap_or_else(|| format!("Context summary: {count} files related to: {}", ir.intent));
        changed.metadata.insert("original_context_refs".to_owned(), ir.context_refs.to_vec().into());
        changed.metadata.insert("context_digest".to_owned(), digest.into());
        Ok(Some(PluginChange {
            ir: changed,
            transformation_type: "context_digest".into(),
            description: format!("Compressed {count} refs into digest"),
        }))
    }
}
