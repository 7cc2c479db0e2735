//! The Prompt IR as plain data.

use std::sync::Arc;

use stave_canon::{Ids, Object};
use stave_shape::Shape;

use crate::codec::ANY_1_X;
use crate::{CreatedAt, PhaseType, Priority, Temperature, TokenBudget};

/// The version this crate writes.
pub const IR_VERSION: &str = "1.0";

// What plugins seldom change is shared between the stages of a prompt; `Arc::make_mut` gives a stage its own copy.
/// One prompt, before it is compiled for a model. A document of version 1.0 has exactly these fields; a later 1.x may
/// have more.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "Prompt")]
pub struct PromptIr {
    /// The name of this instance. Absent, null or empty: a fresh one is drawn.
    #[shape(placeholder, null_is_absent)]
    pub ir_id: String,
    /// Who is asked: an agent role or a flow's node. It selects the template.
    pub role: String,
    /// What is to be accomplished, not how.
    pub intent: String,
    pub phase: PhaseType,
    // Read with `ContextRef::parse`.
    /// References to context such as `file:src/a.py`, `diff:main` and `memory:key`.
    pub context_refs: Arc<Vec<String>>,
    /// Rules that must be followed.
    pub constraints: Arc<Vec<String>>,
    /// The schema of the answer: `{"field": "type"}`, or a JSON Schema.
    pub output_requirements: Arc<Object>,
    /// The most tokens that the compiled prompt may have. Written as an integer: 3000, not 3000.0.
    pub token_budget: TokenBudget,
    /// From 1, the lowest, to 10, the highest.
    #[shape(default = Priority::DEFAULT)]
    pub priority: Priority,
    /// The suggested provider.
    #[shape(write_null)]
    pub model_hint: Option<String>,
    /// The suggested sampling temperature.
    #[shape(default)]
    pub temperature_hint: Temperature,
    /// The output schema of the templates that the answer keeps to.
    #[shape(default = "default".to_owned())]
    pub schema_id: String,
    /// The version of the form.
    #[shape(default = IR_VERSION.to_owned(), pattern = ANY_1_X)]
    pub ir_version: String,
    /// Open to plugins and callers.
    #[shape(default)]
    pub metadata: Object,
    /// An ISO 8601 time. Absent or null: now.
    #[shape(placeholder = CreatedAt::EPOCH, null_is_absent)]
    pub created_at: CreatedAt,
    /// Fields of a later 1.x version, kept as they came so that they survive a round trip.
    #[shape(rest_if_open)]
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
