//! Laws of the layout: it keeps the meaning and the comments, and it is its own layout.

use proptest::prelude::*;
use stave_canon::Value;
use stave_diag::SourceId;
use stave_flow::{FormatError, FormatOptions, format, semantic_hash, yaml};

use crate::flows::{committed, mutate, mutation};

fn formatted(text: &str) -> Result<String, FormatError> {
    format(SourceId(0), text, FormatOptions::default())
}

/// The comments of a text without the white space behind them, in no order.
fn comments(text: &str) -> Vec<String> {
    let found = yaml::read(SourceId(0), text).comments;
    let mut words: Vec<String> =
        found.iter().map(|comment| text[comment.span.range()].trim_end().to_owned()).collect();
    words.sort();
    words
}

fn meaning(text: &str) -> Option<String> {
    semantic_hash(&yaml::read(SourceId(0), text).root?).ok()
}

/// A text that can be read is laid out; the result means the same and stays as it is.
fn assert_lawful(text: &str) {
    let once = match formatted(text) {
        Ok(once) => once,
        Err(FormatError::Invalid(diagnostics)) => {
            assert!(diagnostics.iter().any(stave_diag::Diagnostic::is_error));
            return;
        }
        Err(FormatError::Unfaithful) => return,
    };
    assert_eq!(meaning(&once), meaning(text), "the meaning\n{text}\n=>\n{once}");
    assert_eq!(comments(&once), comments(text), "the comments\n{text}\n=>\n{once}");
    assert_eq!(formatted(&once).as_deref(), Ok(once.as_str()), "again\n{text}\n=>\n{once}");
    assert!(once.ends_with('\n') && !once.contains('\r'), "{once}");
}

#[test]
fn every_committed_flow_is_laid_out() {
    for text in committed() {
        assert_lawful(&text);
        if yaml::read(SourceId(0), &text).diagnostics.is_empty() {
            let refused = matches!(formatted(&text), Err(FormatError::Unfaithful));
            assert!(!refused, "{text}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its own inputs")]
fn people_see_one_layout() {
    insta::glob!("format/*.yaml", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        assert_lawful(&text);
        insta::assert_snapshot!(formatted(&text).unwrap());
    });
}

#[test]
fn a_comment_between_a_dash_and_its_item_stands_ahead_of_the_dash() {
    let once = formatted("a:\n  -\n    ?\n    # c\n    : 1\n").unwrap();
    assert_eq!(once, "a:\n  # c\n  - : 1\n");
    for text in
        [":\r-\r#-\r ?\r#-\u{dc}\r##*\n", ":\r-\r#-\r ?\r#-\r##*\n", "a:\n  - &x\n    # c\n    b: 1\n"]
    {
        assert_lawful(text);
    }
}

#[test]
fn json_stays_json() {
    let text = r#"{"edges":[],"version":"1.0","nodes":{"a":{"id":"a","outputs":[],"type":"transform","inputs":[]}}}"#;
    let once = formatted(text).unwrap();
    assert_lawful(text);
    let keys: Vec<String> = match stave_canon::parse(&once).unwrap() {
        Value::Object(object) => object.keys().cloned().collect(),
        other => panic!("{other}"),
    };
    assert_eq!(keys, ["version", "nodes", "edges"]);
    assert!(once.contains("\"id\": \"a\""), "{once}");
    let without = format(SourceId(0), text, FormatOptions { drops_ids: true }).unwrap();
    assert!(!without.contains("\"id\""), "{without}");
}

/// The flow with an `id` in each node that is written over several lines.
fn with_ids(text: &str) -> String {
    let mut lines = Vec::new();
    let mut in_nodes = false;
    for line in text.lines() {
        lines.push(line.to_owned());
        if !line.starts_with(' ') && !line.is_empty() {
            in_nodes = line.starts_with("nodes:");
        } else if let Some(name) = line.strip_prefix("  ").and_then(|line| line.strip_suffix(':'))
            && in_nodes
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            lines.push(format!("    id: {name}"));
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_flow_is_laid_out(
        flow in prop::sample::select(committed()),
        mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        assert_lawful(&mutations.iter().fold(flow, |text, mutation| mutate(&text, mutation)));
    }

    #[test]
    fn a_formatted_flow_has_no_finding_that_it_did_not_have(
        flow in prop::sample::select(committed()),
        mutations in prop::collection::vec(mutation(), 0..3),
        has_ids: bool,
    ) {
        let mut text = mutations.iter().fold(flow, |text, mutation| mutate(&text, mutation));
        if has_ids {
            text = with_ids(&text);
        }
        if let Ok(after) = formatted(&text) {
            let codes = |text: &str| {
                let options = stave_flow::CheckOptions { strict: true, ..stave_flow::CheckOptions::default() };
                let loaded = stave_flow::load(SourceId(0), text, &options);
                let mut codes: Vec<String> = loaded.diagnostics.iter().map(|found| format!("{} {}", found.code, found.message)).collect();
                codes.sort();
                codes
            };
            let before = codes(&text);
            for found in codes(&after) {
                prop_assert!(before.contains(&found), "{} in\n{}", found, after);
            }
        }
    }

    #[test]
    fn comments_put_anywhere_survive(
        flow in prop::sample::select(committed()).prop_filter("has lines", |flow| !flow.is_empty()),
        places in prop::collection::vec((any::<prop::sample::Index>(), 0..9usize, any::<bool>()), 1..8),
    ) {
        let mut lines: Vec<String> = flow.lines().map(str::to_owned).collect();
        for (number, (place, indent, behind)) in places.into_iter().enumerate() {
            let at = place.index(lines.len());
            if behind {
                lines[at].push_str(&format!(" # behind {number}"));
            } else {
                lines.insert(at, format!("{}# alone {number}", " ".repeat(indent)));
            }
        }
        let text = lines.join("\n");
        prop_assert_ne!(formatted(&text), Err(FormatError::Unfaithful), "{}", text);
        assert_lawful(&text);
    }

    #[test]
    fn any_text_is_laid_out_or_refused(
        text in "([a-z]{1,3}|[-:{}\\[\\],|>&*!#'\"\\\\ \n\t\r\u{feff}é${}%]|: |- |\n {0,4}|a: |\n  # c\n){0,60}",
    ) {
        assert_lawful(&text);
    }
}
