//! The references of a prompt: files and diffs that the project lists, and inputs of the node.
//!
//! Invariant: a prompt is asked with everything that it refers to, or not at all.

use stave_diag::codes::run as codes;
use stave_prompt::compile::{PromptPart, Provenance};
use stave_prompt::resolve::{self, Resolution, Unavailable};
use stave_prompt::{ContextRef, PromptIr};
use stave_script::Read;

use super::arguments::Arguments;
use super::{gate, question};
use crate::labels;
use crate::run::Call;
use crate::{Failure, failure::FailureKind, port};

/// Reads what a prompt refers to. Files have the label of the values in their paths.
pub(super) fn resolve(call: &Call<'_>, arguments: &Arguments, ir: &PromptIr) -> Result<Resolution, Failure> {
    let mut resolution = resolve::resolve(ir, call.services.references.as_ref());
    if let Some((reference, reason)) = resolution.unavailable.first() {
        return Err(unavailable(reference, reason));
    }
    for part in &mut resolution.parts {
        part.sensitivity = arguments.context_label;
    }
    let mut seen = std::collections::HashSet::new();
    for reference in ir.context_refs.iter().filter(|reference| seen.insert(reference.as_str())) {
        let part = match ContextRef::parse(reference) {
            ContextRef::Memory(name) => remembered(call, ir, reference, name)?,
            ContextRef::Raw(_) => written(arguments, reference),
            _ => None,
        };
        if let Some(part) = part {
            let label = part.sensitivity.join(arguments.context_label);
            resolution.add(part.sensitivity(label).part_of(reference));
        }
    }
    Ok(resolution)
}

/// The value of an input, or what the prompt carries in its metadata. An input that is optional and absent is no context.
fn remembered(
    call: &Call<'_>,
    ir: &PromptIr,
    reference: &str,
    name: &str,
) -> Result<Option<PromptPart>, Failure> {
    let Some(value) = call.inputs.get(name) else {
        if call.node.inputs.iter().any(|port| port.name() == name) {
            return Ok(None);
        }
        let carried = ir.metadata.get(name).ok_or_else(|| unavailable(reference, &Unavailable::NoValue))?;
        let text = port::text(carried).unwrap_or_else(|_| carried.to_string());
        let label = labels::of_field(call, name)?;
        return Ok(Some(PromptPart::new(name, text, Provenance::Memory).sensitivity(label)));
    };
    let label = gate::label(call, [&Read::Input(name.to_owned())])?;
    let text = port::text(value).unwrap_or_else(|_| value.to_string());
    Ok(Some(PromptPart::new(name, text, question::provenance(call, name)).sensitivity(label)))
}

/// Where the text of a plain reference came from.
fn written(arguments: &Arguments, reference: &str) -> Option<PromptPart> {
    let written = arguments.context_refs.iter().find(|written| written.text == reference)?;
    let provenance = if written.is_filled { Provenance::User } else { Provenance::Developer };
    Some(PromptPart::new(reference, String::new(), provenance))
}

fn unavailable(reference: &str, reason: &Unavailable) -> Failure {
    let kind = match reason {
        Unavailable::Unlisted(_) => FailureKind::Refused,
        _ => FailureKind::Configuration,
    };
    Failure::new(codes::CONTEXT_UNAVAILABLE, kind, format!("the prompt refers to `{reference}`: {reason}"))
}
