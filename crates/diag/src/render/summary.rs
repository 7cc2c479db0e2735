//! The last line of a check: how many findings there were.

use crate::{Diagnostic, Severity};

/// The counts in words, worst first: `2 errors, 1 warning`.
#[must_use]
pub fn summary(diagnostics: &[Diagnostic]) -> String {
    let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter_map(|severity| {
            let count = diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
            match count {
                0 => None,
                1 => Some(format!("1 {severity}")),
                _ => Some(format!("{count} {severity}s")),
            }
        })
        .collect();
    if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, SourceId, Span};

    #[test]
    fn counts_are_worst_first_and_in_the_right_number() {
        let of = |severity| Diagnostic::new(Code("x"), Span::at(SourceId(0), 0), "m").severity(severity);
        let (error, warning, note) = (of(Severity::Error), of(Severity::Warning), of(Severity::Note));
        assert_eq!(summary(&[]), "no findings");
        assert_eq!(summary(&[warning.clone(), error.clone(), error.clone()]), "2 errors, 1 warning");
        assert_eq!(summary(&[note.clone(), note]), "2 notes");
        assert_eq!(summary(&[error, warning]), "1 error, 1 warning");
    }
}
