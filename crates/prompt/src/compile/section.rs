//! The sections of a model call, in the order in which they are sent.
//!
//! What stays the same from call to call comes first (instructions, constraints, task, output schema),
//! so that it can be cached; what changes comes last.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use stave_canon::Value;
use stave_canon::{Layout, write_object};

use super::fit::{Cut, CutReason, TokenCounter};
use super::{Adapter, Parts, PromptPart, Provenance, Sensitivity};
use crate::resolve::FILE_CHARACTERS;
use crate::{CONTEXT_DIGEST_MARKER, ContextRef, PromptIr};

/// What a section is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SectionKind {
    Instructions,
    Constraints,
    Task,
    OutputSchema,
    Context,
    History,
    ToolResult,
    Input,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    /// What a cut is reported under: a reference, an input's name, or the kind's word.
    pub name: String,
    /// The reference whose text a source gave.
    pub reference: Option<String>,
    pub text: String,
    pub provenance: Provenance,
    pub sensitivity: Sensitivity,
    /// Larger is more important.
    pub priority: u8,
    /// Whether it may be shortened or left out to keep the budget.
    pub droppable: bool,
    /// The kind that it is cut as and that a cut is reported under; its own, unless its part says otherwise.
    pub cut_as: SectionKind,
    /// The bytes of `text` that are content; the rest frames it and survives shortening.
    pub(super) body: Range<usize>,
}

/// The sections before they are fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Sections {
    pub sections: Vec<Section>,
    /// What was left out because of a limit other than the budget.
    pub cuts: Vec<Cut>,
    /// References that nothing was supplied for.
    pub unresolved: Vec<String>,
}

impl SectionKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            SectionKind::Instructions => "instructions",
            SectionKind::Constraints => "constraints",
            SectionKind::Task => "task",
            SectionKind::OutputSchema => "output_schema",
            SectionKind::Context => "context",
            SectionKind::History => "history",
            SectionKind::ToolResult => "tool_result",
            SectionKind::Input => "input",
        }
    }

    /// The importance of a section whose part does not say.
    fn priority(self) -> u8 {
        match self {
            SectionKind::History => 4,
            SectionKind::Context => 5,
            SectionKind::ToolResult => 6,
            _ => 10,
        }
    }

    fn droppable(self) -> bool {
        matches!(self, SectionKind::Context | SectionKind::History | SectionKind::ToolResult)
    }
}

impl Section {
    fn new(kind: SectionKind, name: &str, text: String, provenance: Provenance) -> Self {
        let body = 0..text.len();
        Section {
            kind,
            name: name.to_owned(),
            reference: None,
            text,
            provenance,
            sensitivity: Sensitivity::Public,
            priority: kind.priority(),
            droppable: kind.droppable(),
            cut_as: kind,
            body,
        }
    }

    fn verbatim(kind: SectionKind, part: &PromptPart) -> Self {
        let section = Section::new(kind, &part.name, part.text.clone(), part.provenance);
        let cut_as = part.cut_as.unwrap_or(kind);
        Section {
            sensitivity: part.sensitivity,
            priority: part.priority.unwrap_or(cut_as.priority()),
            droppable: cut_as.droppable(),
            cut_as,
            ..section
        }
    }

    /// A part under its name, framed so that its own text cannot end it.
    fn untrusted(kind: SectionKind, part: &PromptPart, adapter: Adapter) -> Self {
        let (text, body) = adapter.untrusted(kind, &part.name, &part.text);
        Section { text, body, ..Section::verbatim(kind, part) }
    }
}

/// The sections of a prompt, not yet fitted to its budget.
#[must_use]
pub fn sections(ir: &PromptIr, parts: &Parts, counter: &TokenCounter<'_>) -> Sections {
    let adapter = parts.adapter;
    let of_template = parts.of_template();
    let instructions: Vec<&PromptPart> = of_template.iter().chain(&parts.instructions).collect();
    let count = instructions.len() + ir.context_refs.len() + parts.inputs.len() + 4;
    let mut out = Sections { sections: Vec::with_capacity(count), cuts: Vec::new(), unresolved: Vec::new() };
    let verbatim = |kind: SectionKind| move |part: &PromptPart| Section::verbatim(kind, part);
    let untrusted = |kind: SectionKind| move |part: &PromptPart| Section::untrusted(kind, part, adapter);
    out.sections.extend(instructions.iter().copied().map(verbatim(SectionKind::Instructions)));
    out.sections.extend(constraints(ir, parts));
    out.sections.extend(task(ir, &instructions, parts.adapter));
    out.sections.extend(output_schema(ir, parts));
    let mut supplied: HashMap<&str, Vec<&PromptPart>> = HashMap::new();
    for part in &parts.references {
        supplied.entry(part.reference()).or_default().push(part);
    }
    let mut sent = Sent::default();
    let mut files = SentFiles::default();
    for reference in ir.context_refs.iter() {
        // A reference that is named twice is sent once.
        if sent.insert(reference) {
            let supplied = supplied.get(reference.as_str()).map(Vec::as_slice).unwrap_or_default();
            match ContextRef::parse(reference) {
                ContextRef::File(_) if !supplied.is_empty() => {
                    let new = files.new_parts(supplied);
                    if !new.is_empty() {
                        context(ir, &new, reference, adapter, counter, &mut out);
                    }
                }
                _ => context(ir, supplied, reference, adapter, counter, &mut out),
            }
        }
    }
    out.sections.extend(parts.documents.iter().map(untrusted(SectionKind::Context)));
    out.sections.extend(parts.history.iter().map(verbatim(SectionKind::History)));
    out.sections.extend(parts.tool_results.iter().map(untrusted(SectionKind::ToolResult)));
    out.sections.extend(parts.inputs.iter().map(verbatim(SectionKind::Input)));
    let priorities =
        parts.template.as_ref().map(|template| template.priorities.as_slice()).unwrap_or_default();
    for section in &mut out.sections {
        let level = priorities.iter().find(|(kind, _)| *kind == section.cut_as);
        if let (Some((_, level)), true) = (level, section.priority == section.cut_as.priority()) {
            section.priority = *level;
        }
    }
    out
}

/// The references that were sent. A few are compared one by one, which takes less time than hashing them.
#[derive(Default)]
struct Sent<'r> {
    few: Vec<&'r str>,
    many: HashSet<&'r str>,
}

impl<'r> Sent<'r> {
    const FEW: usize = 16;

    /// Whether the reference was not sent before.
    fn insert(&mut self, reference: &'r str) -> bool {
        if self.few.contains(&reference) {
            return false;
        }
        if self.few.len() < Self::FEW {
            self.few.push(reference);
            return true;
        }
        self.many.insert(reference)
    }
}

/// The texts of files that were sent, by the name of the file. A file that two references name is sent once.
#[derive(Default)]
struct SentFiles<'p> {
    texts: HashMap<&'p str, Vec<&'p str>>,
}

impl<'p> SentFiles<'p> {
    fn new_parts(&mut self, parts: &[&'p PromptPart]) -> Vec<&'p PromptPart> {
        let is_new = |part: &&'p PromptPart| {
            let texts = self.texts.entry(part.name.as_str()).or_default();
            let is_new = !texts.contains(&part.text.as_str());
            if is_new {
                texts.push(&part.text);
            }
            is_new
        };
        parts.iter().copied().filter(is_new).collect()
    }
}

fn constraints(ir: &PromptIr, parts: &Parts) -> Option<Section> {
    let of_template = parts.template.as_ref().map(|template| template.constraints.as_slice());
    let texts = || of_template.unwrap_or_default().iter().chain(ir.constraints.iter());
    let mut lines = String::with_capacity(texts().map(|text| text.len() + 3).sum());
    for constraint in texts() {
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines.push_str("- ");
        lines.push_str(constraint);
    }
    (!lines.is_empty()).then(|| {
        let text = parts.adapter.trusted(SectionKind::Constraints, &lines);
        Section::new(SectionKind::Constraints, "constraints", text, Provenance::Developer)
    })
}

/// The intent, unless the instructions already say it word for word.
fn task(ir: &PromptIr, instructions: &[&PromptPart], adapter: Adapter) -> Option<Section> {
    let said = instructions.iter().any(|part| part.text.trim() == ir.intent.trim());
    (!said && !ir.intent.is_empty()).then(|| {
        let text = adapter.trusted(SectionKind::Task, &ir.intent);
        Section::new(SectionKind::Task, "task", text, Provenance::Developer)
    })
}

fn output_schema(ir: &PromptIr, parts: &Parts) -> Option<Section> {
    let text = match &parts.requirements {
        Some(requirements) => parts.adapter.output(requirements),
        None if ir.output_requirements.is_empty() => return None,
        None => {
            let mut printed = String::new();
            write_object(&ir.output_requirements, &Layout::PRETTY_INSERTION_ASCII, &mut printed);
            parts.adapter.trusted(SectionKind::OutputSchema, &printed)
        }
    };
    Some(Section::new(SectionKind::OutputSchema, "output_schema", text, Provenance::Developer))
}

fn context(
    ir: &PromptIr,
    supplied: &[&PromptPart],
    reference: &str,
    adapter: Adapter,
    counter: &TokenCounter<'_>,
    out: &mut Sections,
) {
    let parts: Vec<PromptPart> = match ContextRef::parse(reference) {
        ContextRef::File(_) => supplied.iter().map(|part| cap_file((*part).clone(), counter, out)).collect(),
        ContextRef::Diff(_) => supplied.iter().map(|part| (*part).clone()).collect(),
        // A caller that has the value supplies it; else it is in the metadata.
        ContextRef::Memory(_) if !supplied.is_empty() => {
            supplied.iter().map(|part| (*part).clone()).collect()
        }
        ContextRef::Memory(key) => {
            let value = ir.metadata.get(key).into_iter();
            value.map(|value| PromptPart::new(reference, plain(value), Provenance::Memory)).collect()
        }
        ContextRef::Digest if !supplied.is_empty() => supplied.iter().map(|part| (*part).clone()).collect(),
        ContextRef::Digest => {
            let value = ir.metadata.get("context_digest").into_iter();
            value
                .map(|value| PromptPart::new("context digest", plain(value), Provenance::Retrieval))
                .collect()
        }
        ContextRef::Raw(raw) => {
            let text = ["[Reference: ", &one_line(raw), "]"].concat();
            let section = Section::new(SectionKind::Context, reference, text, Provenance::Developer);
            // A supplied part says where the text of the reference came from.
            let section = supplied.first().map_or(section.clone(), |part| Section {
                provenance: part.provenance,
                sensitivity: part.sensitivity,
                ..section
            });
            out.sections.push(section);
            return;
        }
    };
    let is_resolved = matches!(ContextRef::parse(reference), ContextRef::File(_) | ContextRef::Diff(_));
    if parts.is_empty() {
        out.unresolved.push(reference.to_owned());
        let text = format!("[Not available: {}]", one_line(reference));
        out.sections.push(Section::new(SectionKind::Context, reference, text, Provenance::Developer));
    }
    for part in parts {
        let mut section = Section::untrusted(SectionKind::Context, &part, adapter);
        section.reference = is_resolved.then(|| reference.to_owned());
        // The digest represents everything that it replaced, so it is never cut.
        if reference == CONTEXT_DIGEST_MARKER {
            section.droppable = false;
        }
        out.sections.push(section);
    }
}

/// A reference is untrusted too: it cannot begin a line of its own.
fn one_line(reference: &str) -> Cow<'_, str> {
    if reference.contains(char::is_control) {
        reference.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
    } else {
        reference.into()
    }
}

/// A file's part with at most [`FILE_CHARACTERS`] characters; what is cut is reported.
fn cap_file(mut part: PromptPart, counter: &TokenCounter<'_>, out: &mut Sections) -> PromptPart {
    let Some((end, _)) = part.text.char_indices().nth(FILE_CHARACTERS) else {
        return part;
    };
    let kept = part.text.get(..end).unwrap_or_default().to_owned();
    out.cuts.push(Cut {
        section: out.sections.len(),
        kind: SectionKind::Context,
        name: part.name.clone(),
        reference: Some(part.reference().to_owned()),
        reason: CutReason::FileLimit,
        tokens_before: counter.count(&part.text),
        tokens_after: counter.count(&kept),
    });
    part.text = kept;
    part
}

/// Text as it is, everything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
