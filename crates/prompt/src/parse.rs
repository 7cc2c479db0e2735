//! Text to Prompt IR, with every fault at its place in the text.

use stave_canon::{Clock, Ids, Pointer, locate, locate_key};
use stave_diag::codes::prompt as codes;
use stave_diag::{Code, Diagnostic, SourceId, Span, did_you_mean};

use crate::governance::{PolicyAction, Verdict, Violation};
use crate::output::OutputRequirements;
use crate::{IR_VERSION, PhaseType, PromptFault, PromptFaultKind, PromptIr, from_dict};

/// Reads a Prompt IR from its JSON text.
pub fn parse(
    source: SourceId,
    text: &str,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Result<PromptIr, Vec<Diagnostic>> {
    let value = stave_canon::parse_untrusted(text).map_err(|error| {
        let start = text.floor_char_boundary(error.offset);
        let end = text.ceil_char_boundary(start.saturating_add(1).min(text.len()));
        vec![Diagnostic::new(codes::PROMPT_NOT_JSON, Span::new(source, start, end), error.message)]
    })?;
    from_dict(&value, ids, clock).map_err(|error| diagnose(source, text, &error.faults))
}

/// The faults of a dictionary as diagnostics, in the order of the text it was read from.
#[must_use]
pub fn diagnose(source: SourceId, text: &str, faults: &[PromptFault]) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> =
        faults.iter().map(|fault| diagnose_fault(source, text, fault)).collect();
    stave_diag::sort(&mut diagnostics);
    diagnostics
}

/// The violations of a verdict as diagnostics in the text the prompt was read from: an error for each
/// one that denies, a warning for each one that flags.
#[must_use]
pub fn diagnose_verdict(source: SourceId, text: &str, verdict: &Verdict) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = verdict
        .violations
        .iter()
        .map(|violation| {
            let span = place_of_match(source, text, violation);
            let (code, help) = match violation.action {
                PolicyAction::Deny => {
                    (codes::PROMPT_DENIED, "remove the forbidden text, or change the policy")
                }
                PolicyAction::Flag => (codes::PROMPT_FLAGGED, "make sure that this is meant, or reword it"),
            };
            let message = format!("policy `{}` {}", violation.policy, violation.objection());
            Diagnostic::new(code, span, message).help(help)
        })
        .collect();
    stave_diag::sort(&mut diagnostics);
    diagnostics
}

/// Words in the output requirements of a prompt that are most likely slips of known ones.
#[must_use]
pub fn diagnose_requirements(source: SourceId, text: &str, ir: &PromptIr) -> Vec<Diagnostic> {
    let nearest = |word: &str, known: &[&'static str]| did_you_mean(word, known.iter().copied());
    let slips = OutputRequirements::slips(&ir.output_requirements, &nearest).into_iter().map(|slip| {
        let pointer = format!("/output_requirements{}", slip.pointer);
        let span = locate(text, &pointer)
            .map_or_else(|| Span::at(source, 0), |range| Span::new(source, range.start, range.end));
        Diagnostic::new(codes::PROMPT_MISSPELT_REQUIREMENT, span, slip.message).help(slip.help)
    });
    slips.collect()
}

fn diagnose_fault(source: SourceId, text: &str, fault: &PromptFault) -> Diagnostic {
    let (code, help): (Code, String) = match &fault.kind {
        PromptFaultKind::MissingField(field) => {
            (codes::PROMPT_MISSING_FIELD, format!("add `{field}` to the prompt"))
        }
        PromptFaultKind::UnknownField(field) => (
            codes::PROMPT_UNKNOWN_FIELD,
            format!(
                "remove `{field}`, or move it under `metadata`; fields beyond version {IR_VERSION} need their own `ir_version`"
            ),
        ),
        PromptFaultKind::WrongType { expected, .. } => {
            (codes::PROMPT_WRONG_TYPE, format!("write a value of type {expected}"))
        }
        PromptFaultKind::OutOfRange { expected, .. } => {
            (codes::PROMPT_OUT_OF_RANGE, format!("write a value that is {expected}"))
        }
        PromptFaultKind::UnknownPhase(word) => (codes::PROMPT_UNKNOWN_PHASE, phase_help(word)),
        PromptFaultKind::BadTimestamp(_) => {
            (codes::PROMPT_BAD_TIMESTAMP, "write a time like `2026-02-18T12:00:00+00:00`".to_owned())
        }
        PromptFaultKind::UnsupportedVersion(_) => {
            (codes::PROMPT_UNSUPPORTED_VERSION, format!("convert the prompt to version {IR_VERSION}"))
        }
    };
    let field = fault.pointer.as_str().trim_start_matches('/').replace('/', ".");
    let message = match (&fault.kind, field.as_str()) {
        (PromptFaultKind::WrongType { .. } | PromptFaultKind::OutOfRange { .. }, field)
            if !field.is_empty() =>
        {
            format!("`{field}`: {}", fault.kind)
        }
        _ => fault.kind.to_string(),
    };
    let key = match &fault.kind {
        PromptFaultKind::UnknownField(_) => locate_key(text, fault.pointer.as_str()),
        _ => None,
    };
    let place =
        key.map_or_else(|| place(source, text, &fault.pointer), |key| Span::new(source, key.start, key.end));
    Diagnostic::new(code, place, message).help(help)
}

fn phase_help(word: &str) -> String {
    let words = PhaseType::ALL.iter().map(|phase| format!("`{phase}`")).collect::<Vec<_>>().join(", ");
    let lowered = word.trim().to_lowercase();
    let is_alias = matches!(lowered.as_str(), "analysis" | "integration");
    if is_alias || PhaseType::from_word(&lowered).is_some() {
        return format!("write `{}`", PhaseType::lookup(&lowered));
    }
    format!("write one of {words}")
}

/// The matched bytes, where the item is in the text without escapes; else the whole item.
fn place_of_match(source: SourceId, text: &str, violation: &Violation) -> Span {
    let whole = place(source, text, &violation.field.pointer());
    let written = text.get(whole.range()).and_then(|item| item.strip_prefix('"')?.strip_suffix('"'));
    if written != Some(&*violation.item) || violation.range.is_empty() {
        return whole;
    }
    let start = whole.range().start + 1;
    Span::new(source, start + violation.range.start, start + violation.range.end)
}

/// A whole object is too much to underline for something it lacks; its first character marks it.
fn place(source: SourceId, text: &str, pointer: &Pointer) -> Span {
    let range = locate(text, pointer.as_str()).unwrap_or(0..0);
    let opens = text.as_bytes().get(range.start).is_some_and(|byte| matches!(byte, b'{' | b'['));
    let end = if opens { range.start + 1 } else { range.end };
    Span::new(source, range.start, end)
}
