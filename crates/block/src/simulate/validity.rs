//! Whether a provider takes the marks of a request.

use thiserror::Error;

use crate::{MarkedRules, PositionKind, Ttl, WirePrompt};

/// Why a provider would refuse a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProviderRefusal {
    #[error("{0} marks, more than the provider takes")]
    TooManyMarks(usize),
    #[error("a mark on an empty text, position {0}")]
    EmptyText(usize),
    #[error("a mark on thinking, position {0}")]
    Thinking(usize),
    #[error("a long-lived mark after a short-lived one, position {0}")]
    TtlOrder(usize),
}

/// What is wrong with marks in wire order, when something is.
#[must_use]
pub fn refusal(wire: &WirePrompt, marks: &[(usize, Ttl)], rules: &MarkedRules) -> Option<ProviderRefusal> {
    if marks.len() > rules.marks {
        return Some(ProviderRefusal::TooManyMarks(marks.len()));
    }
    let mut short = false;
    for (index, ttl) in marks {
        let position = &wire.positions[*index];
        match position.kind {
            PositionKind::Thinking => return Some(ProviderRefusal::Thinking(*index)),
            PositionKind::Text if !position.markable => return Some(ProviderRefusal::EmptyText(*index)),
            _ => {}
        }
        match ttl {
            Ttl::Short => short = true,
            Ttl::Long if short => return Some(ProviderRefusal::TtlOrder(*index)),
            Ttl::Long => {}
        }
    }
    None
}
