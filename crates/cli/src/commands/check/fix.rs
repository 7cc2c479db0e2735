//! `--fix`: the cures that are certain, applied until none is left.

use stave_diag::{Diagnostic, Fix, Sources, apply_fixes};

use super::{Checked, Found, diagnose};
use crate::exit::Stop;

/// A fix may make room for another one; a text that needs more rounds than this is left where it is.
const MOST_ROUNDS: usize = 64;

/// Applies the fixes of a text until nothing changes any more; gives how many there were. Fixes that would
/// bring more errors than they cure are not applied.
pub(super) fn apply(checked: &mut Checked) -> Result<usize, Stop> {
    let mut count = 0;
    let mut before = found(checked)?;
    let mut seen = vec![checked.text.clone()];
    for _ in 0..MOST_ROUNDS {
        let (sources, source, diagnostics) = before;
        let fixes: Vec<&Fix> = diagnostics
            .iter()
            .filter_map(|diagnostic| diagnostic.fix.as_ref())
            .filter(|fix| fix.edits.iter().all(|edit| edit.span.source == source))
            .collect();
        let applied = apply_fixes(&sources, &fixes);
        let Some(text) = applied.texts.get(&source).filter(|text| !seen.contains(text)) else { break };
        let earlier = std::mem::replace(&mut checked.text, text.clone());
        let after = found(checked)?;
        if errors(&after.2) > errors(&diagnostics) {
            checked.text = earlier;
            break;
        }
        count += applied.applied.len();
        seen.push(checked.text.clone());
        before = after;
    }
    Ok(count)
}

fn found(checked: &Checked) -> Result<(Sources, stave_diag::SourceId, Vec<Diagnostic>), Stop> {
    let mut sources = Sources::new();
    let Found { source, diagnostics, .. } = diagnose(checked, &mut sources)?;
    Ok((sources, source, diagnostics))
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|found| found.is_error()).count()
}
