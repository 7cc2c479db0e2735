//! Scalars on their new lines.

use granit_parser::ScalarStyle;

use super::tree::{Scalar, line_start};

/// A scalar, line by line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The text behind the key.
    pub(super) first: String,
    /// The lines below it, without indentation.
    pub(super) rest: Vec<String>,
    /// Whether the lines below are the content of a block scalar, so that a comment goes behind the header.
    pub(super) is_block: bool,
    /// Whether blank lines that follow would become part of the text.
    pub(super) keeps_blank: bool,
}

pub(super) fn lines(text: &str, scalar: &Scalar) -> Lines {
    match scalar.style {
        ScalarStyle::Literal => {
            let body = scalar.decoded.trim_end_matches('\n');
            block(scalar, '|', body.split('\n').map(str::to_owned).collect())
        }
        ScalarStyle::Folded => block(scalar, '>', folded(text, scalar)),
        _ => {
            let raw = text.get(scalar.range.clone()).unwrap_or_default();
            let mut lines = raw.split('\n').map(|line| line.trim_end_matches('\r'));
            let first = lines.next().unwrap_or_default().to_owned();
            let rest = lines.map(|line| line.trim_start_matches([' ', '\t']).to_owned()).collect();
            Lines { first, rest, ..Lines::default() }
        }
    }
}

/// The source lines of a folded scalar without their indentation: how it was folded is the author's choice.
fn folded(text: &str, scalar: &Scalar) -> Vec<String> {
    let start = line_start(text, scalar.range.start);
    let indent = scalar.range.start - start;
    let leading = scalar.decoded.len() - scalar.decoded.trim_start_matches('\n').len();
    let content = text.get(start..scalar.range.end).unwrap_or_default();
    let unindented = content.split('\n').map(|line| {
        let line = line.trim_end_matches('\r');
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line.get(spaces.min(indent)..).unwrap_or_default().to_owned()
    });
    let mut lines = vec![String::new(); leading];
    lines.extend(unindented);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn block(scalar: &Scalar, sign: char, mut body: Vec<String>) -> Lines {
    let decoded = &scalar.decoded;
    let Some(first) = body.iter().find(|line| !line.is_empty()) else {
        // Without content there is nothing to indent by.
        return Lines { first: quoted(decoded), ..Lines::default() };
    };
    if body.iter().all(|line| line.trim().is_empty()) {
        return Lines { first: quoted(decoded), ..Lines::default() };
    }
    let indicator = if first.starts_with([' ', '\t']) { "2" } else { "" };
    let breaks = decoded.len() - decoded.trim_end_matches('\n').len();
    let chomping = match breaks {
        0 => "-",
        1 => "",
        _ => "+",
    };
    body.extend(std::iter::repeat_n(String::new(), breaks.saturating_sub(1)));
    Lines {
        first: format!("{sign}{indicator}{chomping}"),
        rest: body,
        is_block: true,
        keeps_blank: breaks > 1,
    }
}

/// A text of white space as a double-quoted scalar.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
