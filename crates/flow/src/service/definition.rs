//! From a name to where it is declared, and back.

use stave_diag::Span;

use super::{Analysis, Occurrence, Symbol};

/// Where the thing under an offset is declared.
#[must_use]
pub fn definitions(analysis: &Analysis, offset: usize) -> Vec<Span> {
    let Some(symbol) = analysis.occurrence_at(offset).map(|occurrence| &occurrence.symbol) else {
        return Vec::new();
    };
    of(analysis, symbol).filter(|occurrence| occurrence.is_definition).map(|found| found.span).collect()
}

/// Every place that names the thing under an offset.
#[must_use]
pub fn references(analysis: &Analysis, offset: usize, with_definition: bool) -> Vec<Span> {
    let Some(symbol) = analysis.occurrence_at(offset).map(|occurrence| &occurrence.symbol) else {
        return Vec::new();
    };
    let wanted = of(analysis, symbol).filter(|occurrence| with_definition || !occurrence.is_definition);
    wanted.map(|found| found.span).collect()
}

fn of<'analysis>(
    analysis: &'analysis Analysis,
    symbol: &'analysis Symbol,
) -> impl Iterator<Item = &'analysis Occurrence> {
    analysis.occurrences.iter().filter(move |occurrence| occurrence.symbol == *symbol)
}
