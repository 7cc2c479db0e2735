//! What people read about a fault of a policy or a template.

use std::fmt;

use stave_canon::Pointer;

/// All faults of a file in one line.
pub(crate) fn listed<'f>(
    out: &mut fmt::Formatter<'_>,
    what: &str,
    faults: impl Iterator<Item = (&'f Pointer, &'f str)>,
) -> fmt::Result {
    write!(out, "{what}: ")?;
    for (index, (pointer, message)) in faults.enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        let place = if pointer.as_str().is_empty() { "" } else { ": " };
        write!(out, "{separator}{pointer}{place}{message}")?;
    }
    Ok(())
}
