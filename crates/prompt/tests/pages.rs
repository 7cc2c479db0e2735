//! The code pages of the prompt line: the bad example raises its code and nothing else, the good one
//! raises nothing.

#![expect(clippy::unwrap_used, reason = "a page that lacks a part fails the test")]

use stave_canon::{CountingIds, FixedClock, Timestamp};
use stave_diag::page::{Example, ExampleKind, examples};
use stave_diag::{CODES, Line, Sources};
use stave_prompt::governance::PolicySet;
use stave_prompt::{diagnose_requirements, diagnose_verdict, parse};

fn codes_of(text: &str) -> Vec<&'static str> {
    let mut sources = Sources::new();
    let source = sources.add("prompt.json", text);
    let diagnostics = match parse(source, text, &CountingIds::new(), &FixedClock(Timestamp::UNIX_EPOCH)) {
        Ok(ir) => {
            let mut found = diagnose_verdict(source, text, &PolicySet::default().check(&ir));
            found.extend(diagnose_requirements(source, text, &ir));
            found
        }
        Err(diagnostics) => diagnostics,
    };
    for diagnostic in &diagnostics {
        assert!(diagnostic.primary.range().end <= text.len());
        assert!(!diagnostic.message.ends_with('.'));
    }
    diagnostics.iter().map(|diagnostic| diagnostic.code.0).collect()
}

/// The first document of each side.
fn first(examples: &[Example]) -> &str {
    examples
        .iter()
        .find(|example| example.kind == ExampleKind::Prompt)
        .map(|example| example.text.as_str())
        .unwrap()
}

#[test]
fn every_page_shows_its_code_and_its_cure() {
    let prompts = CODES.iter().copied().flatten().filter(|info| info.line == Line::Prompt);
    let mut count = 0;
    for info in prompts.filter(|info| info.page.contains("```json prompt")) {
        assert!(info.page.starts_with(&format!("# {}\n\n", info.code)));
        let examples = examples(info.page);
        assert_eq!(codes_of(first(&examples.bad)), [info.code.0], "{}", info.code);
        assert_eq!(codes_of(first(&examples.good)), [""; 0], "{}", info.code);
        count += 1;
    }
    assert_eq!(count, 11);
}
