//! What a replay costs in dollars.

use stave_block::{Replay, TracedRequest};
use stave_llm::prices::Prices;

/// The dollars of a replay; `None` when some model of the trace has no price.
pub(super) fn dollars(trace: &[TracedRequest], replay: &Replay) -> Option<f64> {
    let prices = Prices::built_in();
    let each = trace.iter().zip(&replay.costs).map(|(traced, cost)| {
        let price = prices.of(&traced.wire.model)?;
        // Prices are millionths of a dollar for a million tokens.
        Some(cost * price.input as f64 / 1e12)
    });
    each.sum()
}

/// A dollar amount for a table.
pub(super) fn shown(dollars: Option<f64>) -> String {
    dollars.map_or_else(|| "unknown".to_owned(), |dollars| format!("{dollars:.4} $"))
}
