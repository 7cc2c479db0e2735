//! The blocks that a command was given: those of a body, or of a block document.

use std::path::Path;

use stave_block::{BlockIr, SensitivityPolicy, Tokenizer};
use stave_canon::Value;
use stave_diag::{Diagnostic, Sources, render};
use stave_llm::tokens;
use stave_lower::{RequestBlocks, request_to_block};

use super::arguments::Reading;
use crate::exit::Stop;
use crate::files;
use crate::ports::{RandomIds, SystemClock};
use crate::project::{FILE, Project};
use crate::terminal;

/// The blocks of a body. A block that holds a key or personal data has the label that the gate would give it.
pub(super) fn body(path: &Path, reading: &Reading) -> Result<BlockIr, Stop> {
    let text = files::read_text(path)?;
    let fault = |error: stave_lower::RequestFault| Stop::invalid(format!("{}: {error}", path.display()));
    let surface = reading.provider.map(|provider| provider.surface(&text));
    let named = stave_canon::parse(&text).ok();
    let named = named.as_ref().and_then(|body| body.get("model")).and_then(Value::as_str);
    let model = reading.model.as_deref().or(named).unwrap_or_default();
    let count = |text: &str| u32::try_from(tokens::count_content(model, text).tokens).unwrap_or(u32::MAX);
    let tokenizer = Tokenizer { model_family: tokens::family_of(model), count: &count };
    let blocks = request_to_block(&text, surface, Some(tokenizer), &RandomIds, &SystemClock);
    let RequestBlocks { mut prompt, .. } = blocks.map_err(fault)?;
    for member in reading.provider.map(|provider| provider.foreign_texts(&text)).unwrap_or_default() {
        terminal::error(&format!(
            "{}: `{member}` belongs to the interface of another provider, so its text is left out",
            path.display()
        ));
    }
    let policy = policy(path)?;
    for block in &mut prompt.blocks {
        let found = policy.rules.find(&block.content);
        block.sensitivity = policy.label(block.sensitivity, block.provenance, &found);
    }
    Ok(prompt)
}

/// What the gate of the body's project looks for.
fn policy(path: &Path) -> Result<SensitivityPolicy, Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let project = Project::of(path, &mut sources, &mut diagnostics)?;
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Stop::invalid(format!("{FILE}: {}", render::summary(&diagnostics)))
            .help("`stave check stave.toml` says what is wrong"));
    }
    Ok(project.settings.sensitivity_policy())
}

/// A block document. Everything that is wrong with it is reported.
pub(super) fn document(path: &Path) -> Result<BlockIr, Stop> {
    let text = files::read_text(path)?;
    let value = stave_canon::parse(&text)
        .map_err(|error| Stop::invalid(format!("{} is not JSON: {error}", path.display())))?;
    stave_block::from_value(&value).map_err(|invalid| {
        Stop::invalid(format!("{}: {invalid}", path.display()))
            .help("`stave schema block` prints the form of a block document")
    })
}
