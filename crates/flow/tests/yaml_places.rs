//! Every scalar, key and container has its place, and text inside a scalar maps back to the file.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test helper fails by panicking")]

use stave_diag::{LineColumn, SourceId, Sources, Span};
use stave_flow::model::Text;
use stave_flow::yaml::{Tree, TreeValue, read};

fn root(text: &str) -> Tree {
    let document = read(SourceId(0), text);
    assert!(document.diagnostics.is_empty(), "{text:?}: {:?}", document.diagnostics);
    document.root.unwrap()
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.range()).unwrap()
}

/// For each part of the decoded text of the value of `k`, the source text it was written with.
fn written(source: &str, parts: &[&str]) -> Vec<String> {
    let tree = root(source);
    let text = tree.get("k").and_then(Tree::text).unwrap();
    let mut from = 0;
    parts
        .iter()
        .map(|part| {
            let start = from
                + text.as_str()[from..]
                    .find(part)
                    .unwrap_or_else(|| panic!("no {part:?} in {:?}", text.as_str()));
            from = start + part.len();
            slice(source, text.at(start..from)).to_owned()
        })
        .collect()
}

#[test]
fn scalars_keys_and_containers_have_spans() {
    let text = "a: 1 # one\nlist:\n  - x y\n  - 'q''s'\nmap: {x: [1, 2], \"y\": ~}\nblock: |-\n  foo\n  bar\n\nend: z\n";
    let tree = root(text);
    let at = |key: &str| slice(text, tree.get(key).unwrap().span);
    assert_eq!(slice(text, tree.span), text.trim_end());
    assert_eq!(at("a"), "1");
    assert_eq!(at("list"), "- x y\n  - 'q''s'");
    assert_eq!(at("map"), "{x: [1, 2], \"y\": ~}");
    assert_eq!(at("block"), "|-\n  foo\n  bar");
    let map = tree.get("map").unwrap();
    assert_eq!(slice(text, map.get("x").unwrap().span), "[1, 2]");
    assert_eq!(slice(text, map.entry("y").unwrap().key.span), "\"y\"");
    assert_eq!(slice(text, tree.get("list").unwrap().items().unwrap()[1].span), "'q''s'");
}

#[test]
fn plain_and_quoted_text_maps_back_through_escapes_and_folds() {
    assert_eq!(written("k: one two\n", &["one", "two"]), ["one", "two"]);
    assert_eq!(written("k: one\n   two\n\n   three\n", &["one", "two", "three"]), ["one", "two", "three"]);
    assert_eq!(written("k: 'it''s\n  so'\n", &["it", "'", "s", "so"]), ["it", "''", "s", "so"]);
    assert_eq!(
        written(
            "k: \"a\\tb\\u00e9\\ud83d\\ude00c \\\n   d\\x41 é\"\n",
            &["a", "\t", "b", "é", "😀", "c", "d", "A", "é"]
        ),
        ["a", "\\t", "b", "\\u00e9", "\\ud83d\\ude00", "c", "d", "\\x41", "é"]
    );
}

#[test]
fn block_text_maps_back_without_its_indentation() {
    let literal = "k: |\n    def f():\n        return 1\n\n    x\nz: 1\n";
    assert_eq!(written(literal, &["def f():", "    return 1", "x"]), ["def f():", "    return 1", "x"]);
    let indented = "k: |2+ # why\n    two more\n  zero\n\n\nz: 1\n";
    assert_eq!(written(indented, &["  two more", "zero"]), ["  two more", "zero"]);
    let folded = "k: >\n  one\n  two\n\n  three\n   more\n  end\nz: 1\n";
    assert_eq!(
        written(folded, &["one", "two", "three", " more", "end"]),
        ["one", "two", "three", " more", "end"]
    );
    let blank_first = "k: |\n\n\n  first\n  second";
    assert_eq!(written(blank_first, &["first", "second"]), ["first", "second"]);
}

#[test]
fn a_place_inside_a_block_has_the_right_line_and_column() {
    for newline in ["\n", "\r\n"] {
        let text = ["\u{feff}k:", "  inner: |", "    première", "    deuxième {{ x }}", ""].join(newline);
        let mut sources = Sources::new();
        let source = sources.add("flow.yaml", text.as_str());
        let tree = read(source, &text).root.unwrap();
        let inner = tree.get("k").and_then(|tree| tree.get("inner")).and_then(Tree::text).unwrap();
        assert_eq!(inner.as_str(), "première\ndeuxième {{ x }}\n");
        let at = inner.as_str().find("{{").unwrap();
        let (start, end) = sources.place(inner.at(at..at + 7)).unwrap();
        assert_eq!((start, end), (LineColumn { line: 4, column: 14 }, LineColumn { line: 4, column: 21 }));
    }
}

#[test]
fn aliases_stand_where_they_are_written_and_merges_fill_gaps() {
    let text = "base: &base {a: 1, b: 2}\nuse: *base\nmore:\n  <<: [*base, {b: 3, c: 4}]\n  a: 9\n";
    let tree = root(text);
    assert_eq!(slice(text, tree.get("use").unwrap().span), "*base");
    assert_eq!(tree.get("more").unwrap().to_value().to_string(), r#"{"b":2,"c":4,"a":9}"#);
    assert_eq!(tree.get("use").unwrap().to_value(), tree.get("base").unwrap().to_value());
}

#[test]
fn comments_are_kept_with_their_places() {
    let text = "# first\na: 1 # second\nb: |\n  # text\n# third\n";
    let comments: Vec<&str> =
        read(SourceId(0), text).comments.iter().map(|comment| slice(text, comment.span)).collect();
    assert_eq!(comments, ["# first", "# second", "# third"]);
}

#[test]
fn faults_have_a_code_and_a_place() {
    let table = [
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", "a", 10),
        ("{\"a\": 1, \"a\": 2}", "duplicate-key", "\"a\"", 9),
        ("a: !thing 1\n", "unknown-tag", "1", 10),
        ("a: !!python/object {}\n", "unknown-tag", "{", 19),
        ("a: *nobody\n", "unknown-alias", "*nobody", 3),
        ("a: &a [*a]\n", "unknown-alias", "*a", 7),
        ("a: 1\n---\nb: 2\n", "several-documents", "---", 5),
        ("a: .nan\n", "unrepresentable-value", ".nan", 3),
        ("a: !!int x\n", "unrepresentable-value", "x", 9),
        ("? [a]\n: b\n", "complex-key", "[a]", 2),
        ("a:\n\t- b\n", "yaml-syntax", "-", 4),
        ("a: [1, 2\nb: 3\n", "yaml-syntax", ":", 10),
        ("a: {b: [1}\n", "yaml-syntax", "[", 7),
        ("a: \"x\n", "yaml-syntax", "", 6),
    ];
    for (text, code, at, offset) in table {
        let found = read(SourceId(0), text).diagnostics;
        let [only] = found.as_slice() else { panic!("{text:?}: {found:?}") };
        assert_eq!((only.code.0, only.primary.start), (code, offset), "{text:?}: {}", only.message);
        assert!(slice(text, only.primary).starts_with(at), "{text:?}: {:?}", slice(text, only.primary));
    }
}

#[test]
fn an_alias_bomb_is_refused_before_it_is_built() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", [previous.as_str(); 10].join(", ")));
    }
    let document = read(SourceId(0), &text);
    assert_eq!(document.diagnostics.iter().map(|found| found.code.0).collect::<Vec<_>>(), ["yaml-too-large"]);
    assert!(document.root.is_none());
    let items = ["x"; 1000].join(", ");
    let text = format!("a: &a [{items}]\nb: [{}]\n", ["*a"; 800].join(", "));
    assert_eq!(read(SourceId(0), &text).diagnostics.len(), 1, "a wide document is one too");
    let long = "y".repeat(1 << 20);
    let text = format!("a: &a {long}\nb: [{}]\n", ["*a"; 64].join(", "));
    assert_eq!(
        read(SourceId(0), &text).diagnostics.len(),
        1,
        "copies of a long text weigh as much as they hold"
    );
}

#[test]
fn words_of_older_yaml_are_text() {
    let tree = root("a: yes\nb: no\nc: on\nd: 017\ne: 12345678901234567890123\n");
    let word = |key: &str| tree.get(key).and_then(Tree::text).map(Text::as_str);
    assert_eq!((word("a"), word("b"), word("c")), (Some("yes"), Some("no"), Some("on")));
    assert!(matches!(tree.get("d").unwrap().value, TreeValue::Number(_)));
    assert_eq!(tree.get("e").unwrap().to_value().to_string(), "12345678901234567890123");
}
