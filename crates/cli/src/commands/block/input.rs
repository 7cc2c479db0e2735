//! The blocks that a command was given: those of a body, or of a block document.

use std::path::Path;

use stave_block::{BlockIr, SensitivityPolicy, Tokenizer, find_sensitive};
use stave_canon::Value;
use stave_llm::tokens;
use stave_lower::{RequestBlocks, request_to_block};

use super::arguments::Reading;
use crate::exit::Stop;
use crate::files;
use crate::ports::{RandomIds, SystemClock};

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
    let policy = SensitivityPolicy::default();
    for block in &mut prompt.blocks {
        let found = find_sensitive(&block.content);
        block.sensitivity = policy.label(block.sensitivity, block.provenance, &found);
    }
    Ok(prompt)
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
