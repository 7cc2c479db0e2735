//! Mermaid, for Markdown pages that draw it.

use std::fmt::Write;

use crate::{Diagram, Style, Tone};

/// The diagram as a Mermaid flowchart. Boxes are numbered, because ids may be words that Mermaid keeps for
/// itself.
#[must_use]
pub fn mermaid(diagram: &Diagram) -> String {
    let mut out = String::from("flowchart LR\n");
    for (index, one) in diagram.boxes.iter().enumerate() {
        let title = escaped(&one.title);
        let label = if one.subtitle.is_empty() {
            title
        } else {
            format!("{title}<br/><small>{}</small>", escaped(&one.subtitle))
        };
        let (open, close) = match one.tone {
            Tone::Border => ("([", "])"),
            Tone::Memory => ("[(", ")]"),
            Tone::Model => ("{{", "}}"),
            Tone::Step | Tone::Outside | Tone::Guard => ("[", "]"),
        };
        let _ = writeln!(out, "  n{index}{open}\"{label}\"{close}:::{}", class(one.tone));
    }
    for (arrow, ends) in diagram.arrows.iter().zip(diagram.ends()) {
        let Some((from, to)) = ends else { continue };
        let line = match arrow.style {
            Style::Plain => "-->",
            Style::Conditional | Style::Failure | Style::Call => "-.->",
        };
        let label =
            if arrow.label.is_empty() { String::new() } else { format!("|\"{}\"|", escaped(&arrow.label)) };
        let _ = writeln!(out, "  n{from} {line}{label} n{to}");
    }
    for tone in [Tone::Border, Tone::Step, Tone::Model, Tone::Outside, Tone::Memory, Tone::Guard] {
        let (fill, line) = crate::svg::colours(tone);
        let _ = writeln!(out, "  classDef {} fill:{fill},stroke:{line},color:#1c1b1f;", class(tone));
    }
    out
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Border => "border",
        Tone::Step => "step",
        Tone::Model => "model",
        Tone::Outside => "outside",
        Tone::Memory => "memory",
        Tone::Guard => "guard",
    }
}

/// Mermaid reads HTML entities inside quoted labels.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}
