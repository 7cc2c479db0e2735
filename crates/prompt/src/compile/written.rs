//! A compiled prompt as one text, and as the object that the specification shows.

use stave_canon::{Number, Value};

use super::{Adapter, CompiledPrompt, Cut, CutReason, Section, SectionKind, TokenCounter};
use crate::ContextRef;
use crate::resolve::Included;

/// The text between two sections.
const SEPARATOR: &str = "\n\n";

/// The version of templates that compiled prompts name.
const TEMPLATE_VERSION: &str = "1.0";

/// The sections as one text. The pieces of a rendered template touch; every other section is separate.
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
        let context = self.sections.iter().filter(|section| section.kind == SectionKind::Context);
        let context_size: usize = context.map(|section| section.text.chars().count()).sum();
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
            ("files_included", Value::from(self.files_included())),
            ("files_shortened", Value::Array(self.files_shortened())),
            ("files_left_out", Value::Array(self.files_left_out())),
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
            ("context", self.resolution.to_value_without(|included| self.is_left_out(included))),
        ]);
        Value::from_iter([
            ("role", Value::from(self.role.as_str())),
            ("content", content.into()),
            ("estimated_tokens", used.into()),
            ("model_provider", self.model_provider.as_str().into()),
            ("temperature", Value::from(&self.temperature)),
            ("output_schema", self.requirements.as_ref().map_or(Value::Null, |stated| stated.to_value())),
            ("context_summary", context_summary),
            ("compilation_metadata", compilation_metadata),
        ])
    }
}

/// Which files the text holds.
impl CompiledPrompt {
    /// The files whose text is in the prompt, whole or in part.
    fn files_included(&self) -> Vec<&str> {
        let is_file = |section: &&Section| section.reference.as_deref().is_some_and(is_file);
        self.sections.iter().filter(is_file).map(|section| section.name.as_str()).collect()
    }

    /// The files of which only a part is in the prompt, with the reason.
    fn files_shortened(&self) -> Vec<Value> {
        let limited = self.resolution.included.iter().filter(|one| one.is_cut && is_file(&one.reference));
        let limited = limited.filter(|one| !self.is_left_out(one));
        let limited = limited.map(|one| (one.reference.as_str(), one.name.as_str(), CutReason::FileLimit));
        let cut = self.file_cuts().filter(|(_, cut)| cut.tokens_after > 0);
        let cut = cut.map(|(reference, cut)| (reference, cut.name.as_str(), cut.reason));
        let listed = limited.chain(cut).map(|(reference, name, reason)| {
            Value::from_iter([("reference", reference), ("name", name), ("reason", reason.word())])
        });
        listed.collect()
    }

    /// The files that the prompt refers to and does not hold, with the reason.
    fn files_left_out(&self) -> Vec<Value> {
        let unavailable = self.resolution.unavailable.iter().filter(|(reference, _)| is_file(reference));
        let unavailable = unavailable
            .map(|(reference, reason)| (reference.as_str(), Value::Null, reason.word(), reason.to_string()));
        let cut = self.file_cuts().filter(|(_, cut)| cut.tokens_after == 0).map(|(reference, cut)| {
            let message = "the token budget has no room for it".to_owned();
            (reference, Value::from(cut.name.as_str()), cut.reason.word(), message)
        });
        let listed = unavailable.chain(cut).map(|(reference, name, reason, message)| {
            Value::from_iter([
                ("reference", Value::from(reference)),
                ("name", name),
                ("reason", reason.into()),
                ("message", message.into()),
            ])
        });
        listed.collect()
    }

    fn file_cuts(&self) -> impl Iterator<Item = (&str, &Cut)> {
        let cuts = self.cuts.iter().filter_map(|cut| Some((cut.reference.as_deref()?, cut)));
        cuts.filter(|(reference, _)| is_file(reference))
    }

    /// Whether a text that was taken is not in the prompt after all.
    fn is_left_out(&self, included: &Included) -> bool {
        !self.sections.iter().any(|section| {
            section.name == included.name && section.reference.as_ref() == Some(&included.reference)
        })
    }
}

fn is_file(reference: &str) -> bool {
    matches!(ContextRef::parse(reference), ContextRef::File(_))
}

/// Tokens by budget, rounded to three digits; 0 of 0 is 0.
fn utilization(used: u64, budget: u64) -> Value {
    if budget == 0 {
        return Value::Number(Number::Float(0.0));
    }
    let rounded = (used as f64 / budget as f64 * 1000.0).round() / 1000.0;
    Value::Number(Number::Float(rounded))
}
