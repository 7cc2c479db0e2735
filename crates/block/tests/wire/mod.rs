//! Requests to plan for.

use stave_block::{Position, PositionKind, PromptRole, Provenance, RequestTraits, Surface, WirePrompt};

/// A request of positions with these prefixes; four kilobytes of text each.
pub(crate) fn request(prefixes: &[u128]) -> WirePrompt {
    let positions = prefixes.iter().enumerate().map(|(index, prefix)| Position {
        kind: PositionKind::Text,
        role: PromptRole::User,
        provenance: Provenance::User,
        message: index.checked_sub(1).map(|message| message as u32),
        range: 0..4,
        length: 4096,
        media_tokens: 0,
        prefix: *prefix,
        mark: None,
        markable: true,
        bare: false,
    });
    WirePrompt {
        surface: Surface::AnthropicMessages,
        model: "claude-opus-5".to_owned(),
        positions: positions.collect(),
        shape: RequestTraits::default(),
        automatic_mark: None,
        surplus_marks: Vec::new(),
        cache_key: None,
        body_start: 1,
        body_is_empty: false,
    }
}
