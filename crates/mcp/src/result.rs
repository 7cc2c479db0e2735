//! What a tool answered, as a value.

use rmcp::model::{CallToolResult, ContentBlock};
use stave_canon::Value;

/// The value of a result: its structure, else its one text, else the list of its parts. An error of the tool
/// is its text.
pub(crate) fn value(result: CallToolResult) -> Result<Value, String> {
    if result.is_error == Some(true) {
        let texts: Vec<&str> = result.content.iter().filter_map(text).collect();
        return Err(if texts.is_empty() { "it gave no reason".to_owned() } else { texts.join("\n") });
    }
    if let Some(structure) = result.structured_content {
        return Ok(structure.into());
    }
    if let [part] = result.content.as_slice()
        && let Some(text) = text(part)
    {
        return Ok(text.into());
    }
    match serde_json::to_value(&result.content) {
        Ok(parts) => Ok(parts.into()),
        Err(error) => Err(format!("its result cannot be read: {error}")),
    }
}

fn text(part: &ContentBlock) -> Option<&str> {
    if let ContentBlock::Text(text) = part { Some(&text.text) } else { None }
}
