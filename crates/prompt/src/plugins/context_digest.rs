//! Replaces a long list of context references by one digest.

use std::sync::Arc;

use stave_canon::{Ids, Number, Value};

use super::{Plugin, PluginChange, PluginConfigError, PluginError};
use crate::governance::PolicySet;
use crate::resolve::{ReferenceSource, resolve};
use crate::{CONTEXT_DIGEST_MARKER, ContextRef, PromptIr, digest_bytes, extract};

/// A small model that writes digests.
pub trait CheapModel: std::fmt::Debug + Send + Sync {
    /// The reply to one message of a user, or why there is none. The implementation bounds the time.
    fn call(&self, message: &str) -> Result<String, String>;
}

/// Compresses the references once there are more than `max_context_refs` of them.
///
/// With a source of references, the digest holds the most informative lines of each of them; without one, it counts
/// them and repeats the intent. With a cheap model, that model writes it; when the model fails, the digest is the one
/// that would have been written without it.
#[derive(Debug, Clone)]
pub struct ContextDigest {
    max_context_refs: Number,
    cheap_model: Option<Arc<dyn CheapModel>>,
    contents: Option<DigestContents>,
}

/// Where the contents of references come from, and the policies that judge them.
#[derive(Debug, Clone)]
struct DigestContents {
    source: Arc<dyn ReferenceSource>,
    policies: PolicySet,
}

impl ContextDigest {
    pub const NAME: &'static str = "ContextDigestPlugin";
    pub const DEFAULT_MAX_CONTEXT_REFS: i64 = 10;

    #[must_use]
    pub fn new(max_context_refs: i64) -> Self {
        let max_context_refs = Number::Int(max_context_refs);
        ContextDigest { max_context_refs, cheap_model: None, contents: None }
    }

    /// Takes the contents of the references into the digest. What the policies deny of them is no part of any digest:
    /// the references stay then, and their resolver reports it.
    #[must_use]
    pub fn with_contents(mut self, source: Arc<dyn ReferenceSource>, policies: PolicySet) -> Self {
        self.contents = Some(DigestContents { source, policies });
        self
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
                    Ok(ContextDigest { max_context_refs: limit.clone(), ..Self::default() })
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

impl DigestContents {
    fn digest(&self, ir: &PromptIr) -> Result<String, PluginError> {
        let resolution = resolve(ir, self.source.as_ref());
        let verdict = self.policies.check_content(&resolution.contents());
        if !verdict.approved() {
            return Err(PluginError(format!("the references are denied: {}", verdict.texts().join("; "))));
        }
        let mut texts: Vec<(String, String)> =
            resolution.parts.iter().map(|part| (part.name.clone(), part.text.clone())).collect();
        for reference in ir.context_refs.iter() {
            match ContextRef::parse(reference) {
                ContextRef::Memory(key) => {
                    let value = ir
                        .metadata
                        .get(key)
                        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                    texts.push((reference.clone(), value.unwrap_or_default()));
                }
                ContextRef::Raw(_) => texts.push((reference.clone(), String::new())),
                ContextRef::File(_) | ContextRef::Diff(_) | ContextRef::Digest => {}
            }
        }
        for (reference, reason) in &resolution.unavailable {
            texts.push((format!("{reference} (not available: {reason})"), String::new()));
        }
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        Ok(extract(&ir.intent, &texts, digest_bytes(ir.token_budget.tokens())))
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
        let digest = match (written, &self.contents) {
            (Some(written), _) => written,
            (None, Some(contents)) => contents.digest(ir)?,
            (None, None) => format!("Context summary: {count} files related to: {}", ir.intent),
        };
        changed.metadata.insert("original_context_refs".to_owned(), ir.context_refs.to_vec().into());
        changed.metadata.insert("context_digest".to_owned(), digest.into());
        Ok(Some(PluginChange {
            ir: changed,
            transformation_type: "context_digest".into(),
            description: format!("Compressed {count} refs into digest"),
        }))
    }
}
