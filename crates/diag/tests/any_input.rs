//! Whatever a flow file holds and wherever a checker points, every renderer answers.

use proptest::prelude::*;
use stave_diag::render::{json, sarif, short, summary, terminal};
use stave_diag::{
    Code, Colour, Diagnostic, Edit, Fix, Severity, SourceId, Sources, Span, apply, apply_fixes,
};

/// Texts rich in what makes positions hard.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z:{}\\[\\]/ -]{1,6}",
        2 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("漢".to_owned()),
        1 => Just("e\u{301}".to_owned()),
        1 => Just("👩\u{200d}👩\u{200d}👧".to_owned()),
        1 => Just("\u{feff}".to_owned()),
        1 => Just("\u{1b}[31m".to_owned()),
        1 => Just("\u{9b}\u{202e}\u{2028}".to_owned()),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// Spans of one of two sources, or of none; inside, at the edge, beyond it; now and then backwards.
fn span() -> impl Strategy<Value = Span> {
    (0_u32..3, 0_usize..120, 0_usize..120)
        .prop_map(|(source, start, end)| Span::new(SourceId(source), start, end))
}

fn fix() -> impl Strategy<Value = Fix> {
    let edit = (span(), text()).prop_map(|(span, replacement)| Edit { span, replacement });
    (text(), proptest::collection::vec(edit, 0..4)).prop_map(|(title, edits)| Fix { title, edits })
}

fn diagnostic() -> impl Strategy<Value = Diagnostic> {
    let severity = prop_oneof![Just(Severity::Error), Just(Severity::Warning), Just(Severity::Note)];
    let labels = proptest::collection::vec((span(), text()), 0..4);
    let words = (text(), proptest::option::of(text()), proptest::option::of(text()));
    (severity, span(), words, labels, proptest::option::of(fix())).prop_map(
        |(severity, primary, (message, label, help), labels, fix)| {
            let mut diagnostic = Diagnostic::new(Code("any-code"), primary, message).severity(severity);
            diagnostic.primary_label = label;
            diagnostic.help = help;
            diagnostic.fix = fix;
            labels.into_iter().fold(diagnostic, |diagnostic, (span, message)| diagnostic.label(span, message))
        },
    )
}

fn sources(texts: [String; 2]) -> Sources {
    let mut sources = Sources::new();
    for (text, name) in texts.into_iter().zip(["flows/one.yaml", "/abs/two #.yaml"]) {
        sources.add(name, text);
    }
    sources
}

fn is_harmless(character: char) -> bool {
    matches!(character, '\n' | '\t') || !character.is_control()
}

proptest! {
    #[test]
    fn every_renderer_answers(
        texts in [text(), text()],
        found in proptest::collection::vec(diagnostic(), 0..3),
        width in 0_usize..200,
    ) {
        let sources = sources(texts);
        let plain = terminal::render_within(&found, &sources, Colour::Never, width);
        prop_assert!(plain.chars().all(is_harmless), "{:?}", plain);
        let _ = terminal::render(&found, &sources, Colour::Always);
        let lines = short::render(&found, &sources);
        prop_assert_eq!(lines.lines().count(), found.len());
        prop_assert!(lines.chars().all(is_harmless));
        prop_assert!(!summary(&found).is_empty());

        let report: serde_json::Value = serde_json::from_str(&json::render(&found, &sources)).unwrap();
        prop_assert_eq!(report["diagnostics"].as_array().map(Vec::len), Some(found.len()));
        let log: serde_json::Value = serde_json::from_str(&sarif::render(&found, &sources)).unwrap();
        prop_assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(found.len()));
    }

    #[test]
    fn every_fix_is_applied_or_reported(texts in [text(), text()], fixes in proptest::collection::vec(fix(), 0..5)) {
        let sources = sources(texts);
        let wanted: Vec<&Fix> = fixes.iter().collect();
        let result = apply_fixes(&sources, &wanted);
        let mut seen: Vec<usize> = result.applied.clone();
        seen.extend(result.skipped.iter().map(|skipped| skipped.fix));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..fixes.len()).collect::<Vec<_>>());
        for index in &result.applied {
            for edit in &fixes[*index].edits {
                if let Some(text) = result.texts.get(&edit.span.source) {
                    prop_assert!(text.contains(&edit.replacement));
                }
            }
        }
    }

    #[test]
    fn text_outside_the_edits_is_kept(before in text(), old in text(), after in text(), replacement in text()) {
        let whole = format!("{before}{old}{after}");
        let span = Span::new(SourceId(0), before.len(), before.len() + old.len());
        let expected = format!("{before}{replacement}{after}");
        prop_assert_eq!(apply(&whole, &[Edit { span, replacement }]), Ok(expected));
    }
}
