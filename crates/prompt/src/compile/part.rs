//! What the caller has already resolved for a prompt.

use std::sync::Arc;

use super::{Adapter, Provenance, SectionKind, Sensitivity, Template};
use crate::output::OutputRequirements;

/// A piece of text with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPart {
    /// What the part is called in the prompt and in reports.
    pub name: String,
    /// The reference that it belongs to, where that is not its name.
    reference: Option<String>,
    pub text: String,
    pub provenance: Provenance,
    pub sensitivity: Sensitivity,
    /// Overrides the importance that the part's place gives it; larger is more important.
    pub priority: Option<u8>,
    /// What the part counts as when something has to be cut, where that is not its place in the prompt: an input that
    /// holds a document is cut like a document.
    pub cut_as: Option<SectionKind>,
}

/// Everything beside the Prompt IR that goes into a model call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// Template text, sent first and as it is.
    pub instructions: Vec<PromptPart>,
    /// The contents of `file:`, `diff:` and `memory:` references, and where the text of others came from.
    pub references: Vec<PromptPart>,
    /// Retrieved documents that no reference names.
    pub documents: Vec<PromptPart>,
    /// Earlier turns, oldest first.
    pub history: Vec<PromptPart>,
    pub tool_results: Vec<PromptPart>,
    /// Values of this request, sent last and as they are.
    pub inputs: Vec<PromptPart>,
    /// What the answer has to be; without it the prompt's `output_requirements` are shown as they are.
    pub requirements: Option<Arc<OutputRequirements>>,
    /// What every prompt of the role says: sent before the instructions and the constraints of the prompt.
    pub template: Option<Arc<Template>>,
    /// The provider that is asked, for what a template says to one provider only.
    pub provider: String,
    /// How sections are framed.
    pub adapter: Adapter,
}

impl Parts {
    /// What the template says first.
    pub(super) fn of_template(&self) -> Vec<PromptPart> {
        self.template.as_ref().map(|template| template.instructions(&self.provider)).unwrap_or_default()
    }
}

impl PromptPart {
    /// A public part of the given origin.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>, provenance: Provenance) -> Self {
        PromptPart {
            name: name.into(),
            reference: None,
            text: text.into(),
            provenance,
            sensitivity: Sensitivity::Public,
            priority: None,
            cut_as: None,
        }
    }

    /// Says which reference the part belongs to.
    #[must_use]
    pub fn part_of(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// The reference that the part belongs to: its name, unless it says otherwise.
    #[must_use]
    pub fn reference(&self) -> &str {
        self.reference.as_deref().unwrap_or(&self.name)
    }

    #[must_use]
    pub fn sensitivity(mut self, sensitivity: Sensitivity) -> Self {
        self.sensitivity = sensitivity;
        self
    }

    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    #[must_use]
    pub fn cut_as(mut self, kind: SectionKind) -> Self {
        self.cut_as = Some(kind);
        self
    }
}
