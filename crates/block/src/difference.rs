//! Where two requests part: the first span that differs, and what changes by itself in it.

use crate::{Position, PositionKind, PromptRole, VariableKind, WirePrompt, find_variables};

/// The first difference of a request from an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDifference {
    /// The position in wire order; as many as the earlier request has when it is only longer.
    pub position: usize,
    pub kind: Option<PositionKind>,
    pub role: Option<PromptRole>,
    pub message: Option<u32>,
    /// Where in the later body the bytes begin to differ.
    pub offset: Option<usize>,
    /// The differing bytes of the earlier and of the later request, short.
    pub before: String,
    pub after: String,
    /// The pattern of the clock, date or id that differs, when it is one.
    pub variable: Option<(&'static str, VariableKind)>,
    /// Tokens that both requests begin with.
    pub common_tokens: u64,
    /// Tokens of the later request behind the difference that the earlier one had too, word for word.
    pub lost_tokens: u64,
}

/// How many bytes of a difference are shown.
const SHOWN: usize = 60;

/// Compares a request with an earlier one, both with the tokens up to each position. `None` when the earlier
/// one is the same or begins with the later one.
#[must_use]
pub fn first_difference(
    earlier: (&WirePrompt, &str),
    later: (&WirePrompt, &str),
    later_tokens: &[u64],
) -> Option<RequestDifference> {
    let (old, new) = (&earlier.0.positions, &later.0.positions);
    let common = old.iter().zip(new).take_while(|(old, new)| old.prefix == new.prefix).count();
    let common_tokens = common.checked_sub(1).and_then(|last| later_tokens.get(last)).copied().unwrap_or(0);
    let position = new.get(common)?;
    let total = later_tokens.last().copied().unwrap_or(0);
    let mut difference = RequestDifference {
        position: common,
        kind: Some(position.kind),
        role: Some(position.role),
        message: position.message,
        offset: None,
        before: String::new(),
        after: String::new(),
        variable: None,
        common_tokens,
        lost_tokens: 0,
    };
    let Some(before) = old.get(common) else {
        // The later request only continues the earlier one.
        return Some(difference);
    };
    let (old_text, new_text) = (&earlier.1[before.range.clone()], &later.1[position.range.clone()]);
    let same = common_bytes(old_text, new_text);
    difference.offset = Some(position.range.start + same);
    difference.before = excerpt(old_text, same);
    difference.after = excerpt(new_text, same);
    let variables = find_variables(new_text);
    let hit = variables.iter().find(|variable| variable.range.start <= same && same <= variable.range.end);
    difference.variable = hit.map(|variable| (variable.pattern, variable.kind));
    difference.lost_tokens = lost(earlier, later, common, later_tokens).min(total - common_tokens);
    Some(difference)
}

/// Tokens of positions behind the difference whose bytes the earlier request has at the same place.
fn lost(earlier: (&WirePrompt, &str), later: (&WirePrompt, &str), from: usize, later_tokens: &[u64]) -> u64 {
    let text = |(_, body): (&WirePrompt, &str), position: &Position| body[position.range.clone()].to_owned();
    let pairs = earlier.0.positions.iter().zip(&later.0.positions).enumerate().skip(from);
    let own = |index: usize| later_tokens[index] - index.checked_sub(1).map_or(0, |last| later_tokens[last]);
    pairs
        .map(|(index, (old, new))| {
            let (old_text, new_text) = (text(earlier, old), text(later, new));
            if old_text == new_text {
                return own(index);
            }
            // The part of the differing position that is the same on both sides.
            let same = common_bytes(&old_text, &new_text) + common_end(&old_text, &new_text);
            let share = same as f64 / new_text.len().max(1) as f64;
            (own(index) as f64 * share.min(1.0)) as u64
        })
        .sum()
}

fn common_bytes(left: &str, right: &str) -> usize {
    let same = left.bytes().zip(right.bytes()).take_while(|(left, right)| left == right).count();
    left.floor_char_boundary(same).min(right.floor_char_boundary(same))
}

fn common_end(left: &str, right: &str) -> usize {
    left.bytes().rev().zip(right.bytes().rev()).take_while(|(left, right)| left == right).count()
}

fn excerpt(text: &str, from: usize) -> String {
    let end = text.floor_char_boundary(from + SHOWN);
    let rest = if end < text.len() { "…" } else { "" };
    format!("{}{rest}", &text[from..end])
}
