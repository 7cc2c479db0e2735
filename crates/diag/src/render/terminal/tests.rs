//! What people see, as snapshots: the awkward texts, the awkward spans, and all parts of a finding.

use super::*;
use crate::Code;

/// A finding about the first occurrence of each marked part, the first part being the primary one.
fn shown(text: &str, parts: &[(&str, &str)]) -> String {
    let mut sources = Sources::new();
    let id = sources.add("flows/support.yaml", text);
    let span = |part: &str| {
        let start = text.find(part).expect("the text contains the part");
        Span::new(id, start, start + part.len())
    };
    let (primary, message) = parts.first().expect("a primary part");
    let mut finding = Diagnostic::new(Code("sample-edge"), span(primary), "no node has the id `y`");
    if !message.is_empty() {
        finding = finding.at_primary(*message);
    }
    for (part, message) in parts.iter().skip(1) {
        finding = finding.label(span(part), *message);
    }
    render(&[finding], &sources, Colour::Never)
}

#[test]
fn one_finding_is_one_block() {
    insta::assert_snapshot!(shown(
        "nodes:\n  - id: a\nedges:\n  - to: y\n",
        &[("y", "not a node"), ("a", "the only node")]
    ));
}

#[test]
fn tabs_keep_the_mark_below_its_text() {
    insta::assert_snapshot!(shown("\tkey:\tvalue\tend\n", &[("value", "here")]));
}

#[test]
fn wide_characters_keep_the_mark_below_their_text() {
    insta::assert_snapshot!(shown("名前: 漢字 x # 注\n", &[("漢字", "wide"), ("x", "after it")]));
}

#[test]
fn combining_characters_keep_the_mark_below_their_text() {
    insta::assert_snapshot!(shown(
        "cafe\u{301}: nai\u{308}ve x\n",
        &[("nai\u{308}ve", "combined"), ("x", "after it")]
    ));
}

#[test]
fn carriage_returns_leave_no_trace() {
    let block = shown("a: 1\r\nb: y\r\nc: 3\r\n", &[("y", "here"), ("c", "there")]);
    assert!(!block.contains(['\r', '␍']));
    insta::assert_snapshot!(block);
}

#[test]
fn lone_carriage_returns_end_lines() {
    insta::assert_snapshot!(shown("a: 1\rb: y\rc: 3", &[("y", "here")]));
}

#[test]
fn a_byte_order_mark_is_not_shown() {
    let block = shown("\u{feff}key: y\n", &[("key", "here")]);
    assert!(!block.contains('\u{feff}'));
    insta::assert_snapshot!(block);
}

#[test]
fn a_very_long_line_is_cut_around_the_mark() {
    let text = format!("{}y{}\n", "left ".repeat(2000), " right".repeat(2000));
    let block = shown(&text, &[("y", "here")]);
    assert!(block.lines().all(|line| line.chars().count() <= DEFAULT_WIDTH + 20), "{block}");
    insta::assert_snapshot!(block);
}

#[test]
fn labels_on_far_lines_share_one_block_in_the_order_of_the_text() {
    let mut text = String::from("first: 1\n");
    for line in 2..200 {
        text.push_str(&format!("line{line}: x\n"));
        if line == 100 {
            text.push_str("middle: y\n");
        }
    }
    text.push_str("last: 3\n");
    insta::assert_snapshot!(shown(
        &text,
        &[("y", "wrong"), ("last", "and here"), ("first", "asked for here")]
    ));
}

#[test]
fn a_span_over_lines_is_bracketed_and_ends_on_its_own_line() {
    insta::assert_snapshot!(shown(
        "a: 1\nb:\n  - x\n  - y\n\nc: 2\n",
        &[("b:\n  - x\n  - y\n", "this block")]
    ));
}

#[test]
fn places_at_the_end_and_in_empty_files_are_shown() {
    let mut sources = Sources::new();
    let ended = sources.add("ended.yaml", "a: 1\n");
    let open = sources.add("open.yaml", "a: 1");
    let empty = sources.add("empty.yaml", "");
    let findings = [
        Diagnostic::new(Code("sample-key"), Span::at(ended, 5), "no `nodes`"),
        Diagnostic::new(Code("sample-key"), Span::at(open, 4), "no `nodes`"),
        Diagnostic::new(Code("sample-key"), Span::at(empty, 0), "no `nodes`")
            .label(Span::at(ended, 5), "as here"),
        Diagnostic::new(Code("sample-key"), Span::new(SourceId(9), 3, 4), "of no file"),
    ];
    insta::assert_snapshot!(render(&findings, &sources, Colour::Never));
}

#[test]
fn control_characters_of_a_flow_do_not_reach_the_terminal() {
    let text = "key: \u{1b}[31mred\u{9b}2J\u{202e} y\n";
    let mut sources = Sources::new();
    let id = sources.add("a\u{1b}[2J.yaml", text);
    let start = text.rfind('y').expect("the value");
    let finding = Diagnostic::new(Code("odd"), Span::new(id, start, start + 1), "bad \u{1b}[0m name")
        .at_primary("here \u{7}")
        .help("remove \u{1b}]8;;x")
        .fix(Fix::replace("write \u{1b}c", Span::new(id, start, start + 1), "\u{1b}z"));
    let block = render(&[finding], &sources, Colour::Never);
    assert!(block.chars().all(|character| character == '\n' || !character.is_control()), "{block:?}");
    insta::assert_snapshot!(block);
}

fn sample() -> (Vec<Diagnostic>, Sources) {
    let mut sources = Sources::new();
    let text = "nodes:\n  - id: classify\n    op: promt\nedges:\n  - from: clasify\n    to: _output\n";
    let id = sources.add("flows/support.yaml", text);
    let policy = sources.add("policies/default.yaml", "mode: strict\n");
    let at = |part: &str| {
        let start = text.find(part).expect("the text contains the part");
        Span::new(id, start, start + part.len())
    };
    let edge = Diagnostic::new(Code("sample-edge"), at("clasify"), "no node has the id `clasify`")
        .at_primary("not a node")
        .label(at("classify"), "a node with a like name")
        .label(Span::new(policy, 6, 12), "strict mode asks for this")
        .help("did you mean `classify`?")
        .fix(Fix::replace("rename to `classify`", at("clasify"), "classify"));
    let operation = Diagnostic::new(Code("sample-op"), at("promt"), "no op is called `promt`")
        .severity(Severity::Warning)
        .fix(Fix {
            title: "write a prompt node".to_owned(),
            edits: vec![
                Edit { span: at("    op: promt\n"), replacement: String::new() },
                Edit {
                    span: Span::at(id, at("edges").start as usize),
                    replacement: "    prompt: |\r\n      Hello\r\n".to_owned(),
                },
            ],
        });
    let note =
        Diagnostic::new(Code("lenient"), at("_output"), "read as the flow's output").severity(Severity::Note);
    (vec![edge, operation, note], sources)
}

#[test]
fn all_parts_of_a_finding_are_shown() {
    let (findings, sources) = sample();
    insta::assert_snapshot!(render(&findings, &sources, Colour::Never));
}

#[test]
fn colour_is_there_only_when_asked_for() {
    let (findings, sources) = sample();
    assert!(!render(&findings, &sources, Colour::Never).contains('\x1b'));
    insta::assert_snapshot!(render(&findings, &sources, Colour::Always).replace('\x1b', "␛"));
}

#[test]
fn a_cure_with_overlapping_edits_shows_its_title_only() {
    let (_, sources) = sample();
    let id = SourceId(0);
    let edit = |start, end| Edit { span: Span::new(id, start, end), replacement: "x".to_owned() };
    let fix = Fix { title: "do the impossible".to_owned(), edits: vec![edit(0, 5), edit(3, 8)] };
    let finding = Diagnostic::new(Code("odd"), Span::new(id, 0, 5), "odd").fix(fix);
    insta::assert_snapshot!(render(&[finding], &sources, Colour::Never));
}

#[test]
fn a_cure_of_a_very_long_line_shows_its_title_only() {
    let mut sources = Sources::new();
    let id = sources.add("flow.yaml", format!("{}y\n", "x".repeat(5000)));
    let span = Span::new(id, 5000, 5001);
    let finding = Diagnostic::new(Code("sample-long"), span, "odd").fix(Fix::replace("write `z`", span, "z"));
    let block = render(&[finding], &sources, Colour::Never);
    assert!(block.ends_with("help: write `z`\n\n"), "{block}");
    assert!(block.len() < 1000, "{}", block.len());
}
