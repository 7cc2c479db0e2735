//! DOT, for Graphviz.

use std::fmt::Write;

use crate::{Diagram, Style, Tone};

/// The diagram as a DOT digraph.
#[must_use]
pub fn dot(diagram: &Diagram) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&diagram.title));
    out.push_str("  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n");
    for one in &diagram.boxes {
        let label = if one.subtitle.is_empty() {
            one.title.clone()
        } else {
            format!("{}\n{}", one.title, one.subtitle)
        };
        let _ = writeln!(
            out,
            "  {} [label={}, fillcolor={}];",
            quoted(&one.id),
            quoted(&label),
            quoted(fill(one.tone))
        );
    }
    for arrow in &diagram.arrows {
        let style = match arrow.style {
            Style::Plain => "",
            Style::Conditional => ", style=dashed",
            Style::Failure => ", color=\"#b3261e\", style=dashed",
            Style::Call => ", style=dotted",
        };
        let _ = writeln!(
            out,
            "  {} -> {} [label={}{style}];",
            quoted(&arrow.from),
            quoted(&arrow.to),
            quoted(&arrow.label)
        );
    }
    out.push_str("}\n");
    out
}

fn fill(tone: Tone) -> &'static str {
    crate::svg::colours(tone).0
}

/// A quoted DOT text: quotes and backslashes escaped, line ends as DOT writes them.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
