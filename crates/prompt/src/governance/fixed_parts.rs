//! What policies deny of a prompt in every run, found before any run: its texts without placeholders, and its models.
//!
//! Invariant: checker and runtime ask here, so the checker reports as an error just what a run is refused for.

use stave_canon::{CountingIds, FixedClock, Timestamp};

use super::{AskedModel, PolicyAction, PolicySet, PromptField, Violation};
use crate::PromptIrBuilder;

/// The parts of a prompt that are the same in every run.
#[derive(Debug, Clone, Default)]
pub struct FixedParts<'p> {
    pub constraints: Vec<&'p str>,
    pub context_refs: Vec<&'p str>,
    pub models: Vec<AskedModel<'p>>,
}

/// One of them, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixedPart {
    Constraint(usize),
    ContextRef(usize),
    Model(usize),
}

impl FixedParts<'_> {
    /// Whether a text that an author wrote is the same in every run.
    #[must_use]
    pub fn is_fixed(text: &str) -> bool {
        !text.contains("${")
    }
}

impl PolicySet {
    /// What these policies deny of the parts, texts first.
    #[must_use]
    pub fn always_denied(&self, parts: &FixedParts<'_>) -> Vec<(FixedPart, Violation)> {
        let mut builder = PromptIrBuilder::new("node", "intent");
        for constraint in &parts.constraints {
            builder = builder.add_constraint(*constraint);
        }
        for reference in &parts.context_refs {
            builder = builder.add_context_ref(*reference);
        }
        // The prompt is judged and not kept, so its id and its time do not matter.
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        let of_texts = match builder.build(&CountingIds::new(), &clock) {
            Ok(ir) => self.check(&ir).violations,
            Err(_) => Vec::new(),
        };
        let texts = of_texts.into_iter().filter_map(|violation| {
            let part = match violation.field {
                PromptField::Constraints(index) => FixedPart::Constraint(index),
                PromptField::ContextRefs(index) => FixedPart::ContextRef(index),
                _ => return None,
            };
            Some((part, violation))
        });
        let models = parts.models.iter().enumerate().flat_map(|(index, model)| {
            let violations = self.check_model(*model).violations;
            violations.into_iter().map(move |violation| (FixedPart::Model(index), violation))
        });
        texts.chain(models).filter(|(_, violation)| violation.action == PolicyAction::Deny).collect()
    }
}
