//! Self-contained SVG: no script, no font file, readable on a light and on a dark page.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use crate::layout::{NodeBox, layout};
use crate::markup::escaped;
use crate::{Arrow, Diagram, Style, Tone};

const MARGIN: f64 = 24.0;
const TITLE_HEIGHT: f64 = 34.0;
/// How many columns of text a box and a label have room for.
const BOX_COLUMNS: usize = 34;
const LABEL_COLUMNS: usize = 30;

/// The diagram as an SVG document.
#[must_use]
pub fn svg(diagram: &Diagram) -> String {
    let layout = layout(diagram);
    let top = if diagram.title.is_empty() { MARGIN } else { MARGIN + TITLE_HEIGHT };
    let (width, height) = (layout.width + 2.0 * MARGIN, layout.height + top + MARGIN);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\" font-family=\"ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">"
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&diagram.title));
    out.push_str("<defs>");
    for style in [Style::Plain, Style::Conditional, Style::Failure, Style::Call] {
        let (name, colour, _) = line(style);
        let _ = write!(
            out,
            "<marker id=\"{name}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"{colour}\"/></marker>"
        );
    }
    out.push_str("</defs>\n");
    let _ = writeln!(out, "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>");
    if !diagram.title.is_empty() {
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{:.0}\" font-size=\"17\" font-weight=\"600\" fill=\"#1c1b1f\">{}</text>",
            MARGIN + 14.0,
            escaped(&diagram.title)
        );
    }
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {top})\">");
    for (arrow, points) in diagram.arrows.iter().zip(&layout.routes) {
        draw_arrow(&mut out, arrow, points);
    }
    for (one, place) in diagram.boxes.iter().zip(&layout.places) {
        draw_box(&mut out, one, place);
    }
    for (arrow, points) in diagram.arrows.iter().zip(&layout.routes) {
        draw_label(&mut out, arrow, points);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// Fill and line of a box.
pub(crate) fn colours(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Border => ("#eef1f5", "#5b6675"),
        Tone::Step => ("#ffffff", "#8a94a3"),
        Tone::Model => ("#efe9ff", "#6b4eff"),
        Tone::Outside => ("#e6f4ff", "#1976c5"),
        Tone::Memory => ("#fff4dc", "#c98500"),
        Tone::Guard => ("#ffe9e7", "#b3261e"),
    }
}

/// Marker name, colour and dashes of an arrow.
fn line(style: Style) -> (&'static str, &'static str, &'static str) {
    match style {
        Style::Plain => ("plain", "#5b6675", ""),
        Style::Conditional => ("conditional", "#5b6675", " stroke-dasharray=\"6 4\""),
        Style::Failure => ("failure", "#b3261e", " stroke-dasharray=\"6 4\""),
        Style::Call => ("call", "#6b4eff", " stroke-dasharray=\"2 4\""),
    }
}

fn draw_box(out: &mut String, one: &crate::Box, place: &NodeBox) {
    let (fill, stroke) = colours(one.tone);
    let radius = if one.tone == Tone::Border { place.height / 2.0 } else { 8.0 };
    let _ = write!(
        out,
        "<g><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius:.0}\" fill=\"{fill}\" \
         stroke=\"{stroke}\" stroke-width=\"1.4\"/>",
        place.left, place.top, place.width, place.height
    );
    let middle = place.left + place.width / 2.0;
    let title_y = place.top + if one.subtitle.is_empty() { 28.0 } else { 20.0 };
    let _ = write!(
        out,
        "<text x=\"{middle:.1}\" y=\"{title_y:.1}\" font-size=\"13\" font-weight=\"600\" fill=\"#1c1b1f\" \
         text-anchor=\"middle\">{}</text>",
        escaped(&shortened(&one.title, BOX_COLUMNS))
    );
    if !one.subtitle.is_empty() {
        let _ = write!(
            out,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" font-size=\"11\" fill=\"#49454f\" text-anchor=\"middle\">{}</text>",
            place.top + 36.0,
            escaped(&shortened(&one.subtitle, BOX_COLUMNS))
        );
    }
    out.push_str("</g>\n");
}

fn draw_arrow(out: &mut String, arrow: &Arrow, points: &[(f64, f64)]) {
    let Some((first, rest)) = points.split_first() else { return };
    let (marker, colour, dashes) = line(arrow.style);
    let mut path = format!("M{:.1} {:.1}", first.0, first.1);
    let mut from = *first;
    for to in rest {
        let reach = ((to.0 - from.0) / 2.0).abs().max(18.0);
        let _ = write!(
            path,
            "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
            from.0 + reach,
            from.1,
            to.0 - reach,
            to.1,
            to.0,
            to.1
        );
        from = *to;
    }
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashes} marker-end=\"url(#{marker})\"/>"
    );
}

/// A label is on the first part of its arrow, where room was left for it, on a ground of its own so that
/// lines do not cross it.
fn draw_label(out: &mut String, arrow: &Arrow, points: &[(f64, f64)]) {
    if arrow.label.is_empty() {
        return;
    }
    let [(x1, y1), (x2, y2), ..] = points else { return };
    let (_, colour, _) = line(arrow.style);
    let text = shortened(&arrow.label, LABEL_COLUMNS);
    let width = label_width(&arrow.label);
    let (x, y) = ((x1 + x2) / 2.0, (y1 + y2) / 2.0);
    let _ = writeln!(
        out,
        "<g><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"15\" rx=\"3\" fill=\"#ffffff\" fill-opacity=\"0.9\"/>\
         <text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"10.5\" fill=\"{colour}\" text-anchor=\"middle\">{}</text></g>",
        x - width / 2.0,
        y - 8.0,
        y + 3.5,
        escaped(&text)
    );
}

/// How wide a label is drawn, with the ground around it.
pub(crate) fn label_width(label: &str) -> f64 {
    columns(&shortened(label, LABEL_COLUMNS)) as f64 * 6.1 + 8.0
}

fn columns(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// A text that fits into some columns; what is cut is shown as cut.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line: String =
        text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    if columns(&line) <= most {
        return line;
    }
    let mut used = 1;
    let mut short = String::new();
    for character in line.chars() {
        used += character.width().unwrap_or(0);
        if used > most {
            break;
        }
        short.push(character);
    }
    short.push('…');
    short
}
