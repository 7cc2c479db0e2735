//! The flows of the repository, and ways to break them.

#![expect(clippy::unwrap_used, reason = "a test helper fails by panicking")]

use proptest::prelude::*;
use stave_canon::Value;

const ROWS: [&str; 2] = [
    include_str!("../../../../tests/vectors/flow/check.jsonl"),
    include_str!("../../../../tests/vectors/flow/run.jsonl"),
];

/// Every flow that the repository has: those of the rows, of the examples and of the whole-program tests.
pub(crate) fn committed() -> Vec<String> {
    let rows = ROWS.iter().flat_map(|rows| rows.lines());
    let mut flows: Vec<String> = rows
        .map(|line| stave_canon::parse(line).unwrap())
        .filter_map(|row| {
            let text = row.pointer("/input/yaml");
            text.and_then(Value::as_str).map(str::to_owned)
        })
        .filter(|text| text.len() < 20_000)
        .collect();
    flows.push(include_str!("../../../../tests/program/data/complete_example.yaml").to_owned());
    flows.push(include_str!("../../../../examples/support/flows/support.yaml").to_owned());
    flows.push(include_str!("../../../cli/template/flows/hello.yaml").to_owned());
    flows
}

#[derive(Debug, Clone)]
pub(crate) enum Mutation {
    Remove(usize, usize),
    Insert(usize, &'static str),
    SwapLines(usize, usize),
    RemoveLine(usize),
    RepeatLine(usize),
    Indent(usize),
}

pub(crate) fn mutation() -> impl Strategy<Value = Mutation> {
    let scraps = prop::sample::select(vec![
        "\"", "'", "{", "}", "[", "]", ":", ": ", "- ", "|", ">", "&a ", "*a", "!x ", "#", "\t", "\r\n",
        "\n\n", "é", "漢", "${", "}}", "{{", "{%", "null", "-1", "1e999", "<<: ", "? ", "--- ", "\\u12",
        "\u{feff}", "\u{0}", "\u{2028}", " # c\n", "|+", ">-", "|2",
    ]);
    prop_oneof![
        (any::<usize>(), 1..20usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        (any::<usize>(), scraps).prop_map(|(at, scrap)| Mutation::Insert(at, scrap)),
        (any::<usize>(), any::<usize>()).prop_map(|(one, other)| Mutation::SwapLines(one, other)),
        any::<usize>().prop_map(Mutation::RemoveLine),
        any::<usize>().prop_map(Mutation::RepeatLine),
        any::<usize>().prop_map(Mutation::Indent),
    ]
}

pub(crate) fn mutate(text: &str, mutation: &Mutation) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let count = lines.len();
    match mutation {
        Mutation::Remove(at, length) => {
            let at = at % (characters.len() + 1);
            let end = (at + length).min(characters.len());
            characters.drain(at..end);
            return characters.into_iter().collect();
        }
        Mutation::Insert(at, scrap) => {
            let at = at % (characters.len() + 1);
            characters.splice(at..at, scrap.chars());
            return characters.into_iter().collect();
        }
        Mutation::SwapLines(one, other) => lines.swap(one % count, other % count),
        Mutation::RemoveLine(at) => {
            lines.remove(at % count);
        }
        Mutation::RepeatLine(at) => {
            let line = lines[at % count].clone();
            lines.insert(at % count, line);
        }
        Mutation::Indent(at) => lines[at % count].insert(0, ' '),
    }
    lines.join("\n")
}
