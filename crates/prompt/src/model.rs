//! The Prompt IR as plain data.

use std::sync::Arc;

use stave_canon::{Ids, Object};

use crate::{CreatedAt, PhaseType, Priority, Temperature, TokenBudget};

/// The version this crate writes.
pub const IR_VERSION: &str = "1.0";

/// One prompt, before it is compiled for a model.
///
/// What plugins seldom change is shared between the stages of a prompt; [`Arc::make_mut`] gives a stage its
/// own copy.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptIr {
    pub ir_id: String,
    /// Who is asked: an agent role or a flow's node.
    pub role: String,
    /// What is to be accomplished, not how.
    pub intent: String,
    pub phase: PhaseType,
    /// References to context, read with [`crate::ContextRef::parse`].
    pub context_refs: Arc<Vec<String>>,
    pub constraints: Arc<Vec<String>>,
    pub output_requirements: Arc<Object>,
    pub token_budget: TokenBudget,
    pub priority: Priority,
    pub model_hint: Option<String>,
    pub temperature_hint: Temperature,
    pub schema_id: String,
    pub ir_version: String,
    pub metadata: Object,
    pub created_at: CreatedAt,
    /// Fields of a later 1.x version, kept as they came so that they survive a round trip.
    pub later_fields: Object,
}

impl PromptIr {
    /// A copy under a fresh id that can be changed without touching the original. The original keeps its id and its content; the copy keeps
    /// `created_at`, because it is the same prompt at a later stage.
    #[must_use]
    pub fn clone_with_id(&self, ids: &dyn Ids) -> PromptIr {
        PromptIr { ir_id: ids.short(), ..self.clone() }
    }

    /// The provider that the prompt is compiled for when nothing else decides.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.model_hint.as_deref().filter(|hint| !hint.is_empty()).unwrap_or("anthropic")
    }
}
