//! The fast path beside the full parser.

use proptest::prelude::*;

use super::*;
use crate::read::read_fully;

const EXAMPLE: &str = include_str!("../../../../tests/program/data/complete_example.yaml");

/// Fails when the fast path made something else than the full parser. Says whether it made anything.
fn compare(text: &str) -> Result<bool, TestCaseError> {
    let Some(fast) = read(SourceId(0), text) else { return Ok(false) };
    let full = read_fully(SourceId(0), text);
    prop_assert_eq!(fast.diagnostics, full.diagnostics, "{:?}", text);
    prop_assert_eq!(fast.root, full.root, "{:?}", text);
    prop_assert_eq!(fast.comments, full.comments, "{:?}", text);
    prop_assert_eq!(fast.aliases, full.aliases, "{:?}", text);
    Ok(true)
}

#[test]
fn ordinary_texts_are_read_fast_and_the_same() {
    let texts = [
        "a: 1\nb:\n  c: [x, y]\n  d: {e: f, g: [1, 2.5]}\n",
        "a:\n- 1\n- b: c\n  d: e\n- - f\n  - g\nh: i\n",
        "# head\n\na: # beside\n  # above\n  b: c # behind\n# foot\n",
        "a: |\n  one\n   two\n\n  three\n\n\nb: |-\n  x\n",
        "n:\n  a: |\n\n    one\n  b: |+\n    two\n\n",
        "a:\nb:\n  -\n  - c\nd:\n",
        "\"a b\": 'it''s'\n'c' : \"x\\n\\\"y\\\"\"\n",
        "{\"a\": [1, 2], \"b\":{}, \"c\": \"x\",\n \"d\": [\n  {}\n ]}\n",
        "é: ü # ö\nx: [ä, 漢字]\n",
        "a: -1\nb: http://x.y/z?q=1#f\nc: a:b\n",
        "a: 1\na: 2\n",
        "a: .nan\n",
        "word",
        EXAMPLE,
    ];
    for text in texts {
        assert!(matches!(compare(text), Ok(true)), "{text:?}: {:?}", compare(text));
    }
}

#[test]
fn everything_else_is_left_to_the_full_parser() {
    let texts = [
        "",
        "a: b\n  c\n",
        "a: &x 1\nb: *x\n",
        "a: !t b\n",
        "? a\n: b\n",
        "---\na: b\n",
        "a: b\n...\n",
        "a: >\n  b\n",
        "a: |2\n   b\n",
        "a:\tb\n",
        "a: b: c\n",
        "a: [b\n",
        "a: 'b\n",
        "[a]: b\n",
        "a: [b]c\n",
        "a: \"\\u0041\"\n",
        "a: b\n - c\n",
        "a: {b}\n",
        "a: [b: c]\n",
        "a\r\n",
        "\u{feff}a: b\n",
        "a: |\n  x\n y: z\n",
    ];
    for text in texts {
        assert!(matches!(compare(text), Ok(false)), "{text:?}: {:?}", compare(text));
    }
}

/// Words, signs and white space that mean something to YAML.
fn pieces() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "b",
        "c: ",
        "d:",
        "e : ",
        ": ",
        ":",
        "- ",
        "-",
        " ",
        "  ",
        "    ",
        "\n",
        "\n",
        "\n  ",
        "\n  ",
        "\n    ",
        "\n  - ",
        "\n- ",
        "#",
        " # x",
        "[",
        "]",
        "{",
        "}",
        ",",
        ", ",
        "\"",
        "'",
        "''",
        "\"f\"",
        "'g'",
        "|\n",
        "|-\n",
        "|+\n",
        "|",
        ">\n",
        "\\n",
        "\\",
        "&x ",
        "*x",
        "!t ",
        "~",
        "1",
        "null",
        "<<: ",
        "? ",
        "é",
        "\t",
        "---",
        "...",
        "\nk: |\n    one\n    two\n",
        "\nl: [m, n]\n",
        "{o: p}",
        "[]",
        "{}",
        "%",
        "@",
        "`",
        "\n\n",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

    #[test]
    fn both_readers_make_the_same_of_generated_texts(pieces in prop::collection::vec(pieces(), 0..24)) {
        compare(&pieces.concat())?;
    }

    #[test]
    fn both_readers_make_the_same_of_a_broken_mapping(
        lines in prop::collection::vec(("[ ]{0,4}", prop::collection::vec(pieces(), 1..4)), 1..8),
    ) {
        let lines: Vec<String> =
            lines.into_iter().enumerate().map(|(index, (indent, pieces))| format!("{indent}k{index}: {}\n", pieces.concat())).collect();
        compare(&lines.concat())?;
    }

    #[test]
    fn both_readers_make_the_same_of_a_broken_flow(
        cuts in prop::collection::vec((0.0..1.0f64, 0usize..12, pieces()), 1..3),
        window in 0.0..1.0f64,
    ) {
        // A window of the text is enough, since what is ahead of a fault does not matter.
        let lines: Vec<&str> = EXAMPLE.lines().collect();
        let first = (window * lines.len() as f64) as usize;
        let mut text = lines.iter().skip(first).take(30).map(|line| format!("{line}\n")).collect::<String>();
        for (place, length, piece) in cuts {
            let floor = |offset: usize| text.floor_char_boundary(offset);
            let at = floor((place * text.len() as f64) as usize);
            text.replace_range(at..floor(at + length), &piece);
        }
        compare(&text)?;
    }
}
