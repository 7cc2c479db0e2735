//! The code pages of the prompt line: the bad example raises its code and nothing else, the good one
//! raises nothing.

#![expect(clippy::unwrap_used, reason = "a page that lacks a part fails the test")]

use stave_canon::{CountingIds, FixedClock, Timestamp};
use stave_diag::{CODES, Line, Sources};
use stave_prompt::governance::PolicySet;
use stave_prompt::{diagnose_verdict, parse};

fn codes_of(text: &str) -> Vec<&'static str> {
    let mut sources = Sources::new();
    let source = sources.add("prompt.json", text);
    let diagnostics = match parse(source, text, &CountingIds::new(), &FixedClock(Timestamp::UNIX_EPOCH)) {
        Ok(ir) => diagnose_verdict(source, text, &PolicySet::default().check(&ir)),
        Err(diagnostics) => diagnostics,
    };
    for diagnostic in &diagnostics {
        assert!(diagnostic.primary.range().end <= text.len());
        assert!(!diagnostic.message.ends_with('.'));
    }
    diagnostics.iter().map(|diagnostic| diagnostic.code.0).collect()
}

fn example<'p>(page: &'p str, heading: &str) -> &'p str {
    let after = page.split_once(&format!("## {heading}\n\n```json prompt\n")).unwrap().1;
    after.split_once("\n```").unwrap().0
}

#[test]
fn every_page_shows_its_code_and_its_cure() {
    let prompts = CODES.iter().copied().flatten().filter(|info| info.line == Line::Prompt);
    let mut count = 0;
    for info in prompts.filter(|info| info.page.contains("```json prompt")) {
        assert!(info.page.starts_with(&format!("# {}\n\n", info.code)));
        assert_eq!(codes_of(example(info.page, "Bad")), [info.code.0], "{}", info.code);
        assert_eq!(codes_of(example(info.page, "Good")), [""; 0], "{}", info.code);
        count += 1;
    }
    assert_eq!(count, 10);
}
