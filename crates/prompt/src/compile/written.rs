//! A compiled prompt as one text, and as the object that the specification shows.

use stave_canon::{Number, Value};

use super::{Adapter, CompiledPrompt, CutReason, Section, SectionKind, TokenCounter};

/// What stands between two sections.
const SEPARATOR: &str = "\n\n";

/// The version of templates that compiled prompts name.
const TEMPLATE_VERSION: &str = "1.0";

/// The sections as one text. The pieces of a rendered template touch; every other section stands apart.
pub(super) fn join(sections: &[Section], adapter: Adapter) -> String {
    let mut out = String::with_capacity(length(sections, adapter));
    let mut before: Option<&Section> = None;
    for section in sections.iter().filter(|section| !section.text.is_empty()) {
        if before.is_some_and(|before| !touch(before, section)) {
            out.push_str(SEPARATOR);
        }
        out.push_str(&section.text);
        before = Some(section);
    }
    adapter.finish(out)
}

/// At least as many bytes as the joined text has.
pub(super) fn length(sections: &[Section], adapter: Adapter) -> usize {
    let texts: usize = sections.iter().map(|section| section.text.len() + SEPARATOR.len()).sum();
    texts + adapter.finish(String::new()).len()
}

fn touch(before: &Section, after: &Section) -> bool {
    before.kind == SectionKind::Input && after.kind == SectionKind::Input
}

impl CompiledPrompt {
    /// The whole prompt as one text.
    #[must_use]
    pub fn content(&self) -> String {
        join(&self.sections, self.adapter)
    }

    /// The compiled prompt as an object, with the tokens of its text counted.
    #[must_use]
    pub fn to_value(&self, counter: &TokenCounter<'_>) -> Value {
        let content = self.content();
        let used = counter.count(&content);
        let files = self.sections.iter().filter(|section| section.kind == SectionKind::Context);
        let context_size: usize = files.clone().map(|section| section.text.chars().count()).sum();
        let files: Vec<&str> = files.map(|section| section.name.as_str()).collect();
        let cuts: Vec<Value> = self
            .cuts
            .iter()
            .map(|cut| {
                Value::from_iter([
                    ("section", Value::from(cut.kind.word())),
                    ("name", cut.name.as_str().into()),
                    ("reason", cut.reason.word().into()),
                    ("tokens_before", cut.tokens_before.into()),
                    ("tokens_after", cut.tokens_after.into()),
                ])
            })
            .collect();
        let compressed = self.cuts.iter().any(|cut| cut.reason == CutReason::Budget);
        let context_summary = Value::from_iter([
            ("files_included", Value::from(files)),
            ("context_size", context_size.into()),
            ("pruning_applied", (!self.cuts.is_empty()).into()),
        ]);
        let token_budget = Value::from_iter([
            ("max", Value::from(self.token_budget)),
            ("used", used.into()),
            ("utilization", utilization(used, self.token_budget)),
        ]);
        let template = self.template.as_ref().map(|template| template.role.as_str());
        let compilation_metadata = Value::from_iter([
            ("template_version", Value::from(TEMPLATE_VERSION)),
            ("template", template.into()),
            ("token_budget", token_budget),
            ("model_adapter", self.adapter.word().into()),
            ("compression_applied", compressed.into()),
            ("ir_id", self.ir_id.as_str().into()),
            ("ir_version", self.ir_version.as_str().into()),
            ("ir_phase", self.phase.word().into()),
            ("ir_priority", self.priority.into()),
            ("ir_constraints", self.constraints.to_vec().into()),
            ("cuts", Value::Array(cuts)),
            ("unresolved", self.unresolved.clone().into()),
            ("context", self.resolution.to_value()),
        ]);
        Value::from_iter([
            ("role", Value::from(self.role.as_str())),
            ("content", content.into()),
            ("estimated_tokens", used.into()),
            ("model_provider", self.model_provider.as_str().into()),
            ("output_schema", self.template.as_ref().map_or(Value::Null, |template| template.output_value())),
            ("context_summary", context_summary),
            ("compilation_metadata", compilation_metadata),
        ])
    }
}

/// Tokens by budget, rounded to three digits; 0 of 0 is 0.
fn utilization(used: u64, budget: u64) -> Value {
    if budget == 0 {
        return Value::Number(Number::Float(0.0));
    }
    let rounded = (used as f64 / budget as f64 * 1000.0).round() / 1000.0;
    Value::Number(Number::Float(rounded))
}
