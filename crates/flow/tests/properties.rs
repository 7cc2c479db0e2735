//! Laws of reading and checking: any text ends in findings or a flow, and every place is in the text.

use proptest::prelude::*;
use stave_canon::Value;
use stave_diag::{SourceId, Span, apply};
use stave_flow::yaml::{Tree, TreeValue};
use stave_flow::{CheckOptions, load, semantic_hash};

use crate::flows::{committed, mutate, mutation};

const ROWS: &str = include_str!("../../../tests/vectors/flow/check.jsonl");

fn assert_inside(text: &str, span: Span, what: &str) {
    assert_eq!(span.source, SourceId(7), "{what}");
    assert!(text.get(span.range()).is_some(), "{what}: {span:?} of {} bytes", text.len());
}

fn assert_tree(text: &str, tree: &Tree) {
    assert_inside(text, tree.span, "a value");
    match &tree.value {
        TreeValue::String(string) => {
            let mut before = 0;
            for (index, character) in string.as_str().char_indices() {
                let span = string.at(index..index + character.len_utf8());
                assert_inside(text, span, "a character of a text");
                assert!(span.start >= before, "the places of a text go forward");
                before = span.start;
            }
        }
        TreeValue::Sequence(items) => items.iter().for_each(|item| assert_tree(text, item)),
        TreeValue::Mapping(entries) => entries.iter().for_each(|entry| {
            assert_inside(text, entry.key.span, "a key");
            assert_tree(text, &entry.value);
        }),
        _ => {}
    }
}

/// Loads a text in both dialects and looks at every place that comes out.
fn assert_lawful(text: &str) {
    for strict in [false, true] {
        let parsed = load(SourceId(7), text, &CheckOptions { strict, ..CheckOptions::default() });
        let errors = parsed.diagnostics.iter().any(stave_diag::Diagnostic::is_error);
        assert!(parsed.flow.is_some() || errors, "no flow and no error");
        for found in &parsed.diagnostics {
            assert!(stave_diag::lookup(found.code.0).is_some(), "{} has no row", found.code);
            assert_inside(text, found.primary, found.code.0);
            for label in &found.labels {
                assert_inside(text, label.span, found.code.0);
            }
            if let Some(fix) = &found.fix {
                fix.edits.iter().for_each(|edit| assert_inside(text, edit.span, found.code.0));
                assert!(apply(text, &fix.edits).is_ok());
            }
        }
        if let Some(tree) = &parsed.tree {
            assert_tree(text, tree);
            let _ = semantic_hash(tree);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}") {
        assert_lawful(&text);
    }

    #[test]
    fn any_yaml_like_text_is_read(text in "([a-z]{1,3}|[-:{}\\[\\],|>&*!#'\"\\\\ \n\t\r\u{feff}é${}%]|: |- |\n {0,4}){0,60}") {
        assert_lawful(&text);
    }

    #[test]
    fn a_mutated_flow_is_read(
        flow in prop::sample::select(committed()),
        mutations in prop::collection::vec(mutation(), 1..5),
    ) {
        let text = mutations.iter().fold(flow, |text, mutation| mutate(&text, mutation));
        assert_lawful(&text);
    }

    #[test]
    fn a_block_scalar_is_mapped_character_by_character(
        lines in prop::collection::vec("[ a-zé{}%]{0,12}", 0..8),
        header in prop::sample::select(vec!["|", "|-", "|+", ">", ">-", ">+", "|2", ">2-"]),
        newline in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let body: String = lines.iter().map(|line| format!("{newline}  {line}")).collect();
        let text = format!("k: {header}{body}{newline}z: 1{newline}");
        let tree = stave_flow::yaml::read(SourceId(7), &text).root;
        if let Some(scalar) = tree.as_ref().and_then(|tree| tree.get("k")).and_then(Tree::text) {
            for (index, character) in scalar.as_str().char_indices().filter(|(_, character)| !character.is_whitespace()) {
                let span = scalar.at(index..index + character.len_utf8());
                let written = text.get(span.range()).map(str::to_owned);
                prop_assert_eq!(written, Some(character.to_string()), "{:?}", scalar.as_str());
            }
        }
    }
}

#[test]
fn every_row_is_lawful() {
    for line in ROWS.lines() {
        let row = stave_canon::parse(line).unwrap();
        assert_lawful(row.pointer("/input/yaml").and_then(Value::as_str).unwrap());
    }
}
