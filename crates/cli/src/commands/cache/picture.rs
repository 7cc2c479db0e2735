//! The picture of a trace: one column a request, its tokens read, written and sent plainly.

use std::fmt::Write as _;

use stave_block::{Replay, Served, TracedRequest};
use stave_picture::escaped;

const WIDTH: f64 = 960.0;
const PANEL: f64 = 170.0;
const GAP: f64 = 42.0;
const LEFT: f64 = 70.0;

/// Read, written for five minutes, written for an hour, uncached.
const COLOURS: [(&str, &str); 4] =
    [("read", "#3a8f5c"), ("written 5m", "#d9a441"), ("written 1h", "#b5652f"), ("uncached", "#9aa0a8")];

/// The picture alone.
pub(super) fn svg(trace: &[TracedRequest], replays: &[(&'static str, Replay)]) -> String {
    let panels: Vec<&(&str, Replay)> =
        replays.iter().filter(|(_, replay)| !replay.requests.is_empty()).collect();
    let height = GAP + panels.len() as f64 * (PANEL + GAP) + 20.0;
    let most = panels
        .iter()
        .flat_map(|(_, replay)| replay.requests.iter().map(Served::total))
        .max()
        .unwrap_or(1)
        .max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\" \
         aria-label=\"Input tokens of each request, as sent and as planned\">\n",
        WIDTH + LEFT + 20.0
    );
    for (index, (name, colour)) in COLOURS.iter().enumerate() {
        let x = LEFT + index as f64 * 130.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"{:.0}\" y=\"18\">{name}</text>",
            x + 18.0
        );
    }
    for (index, (name, replay)) in panels.into_iter().enumerate() {
        let top = GAP + index as f64 * (PANEL + GAP);
        panel(&mut svg, name, replay, trace, top, most);
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, name: &str, replay: &Replay, trace: &[TracedRequest], top: f64, most: f64) {
    let bottom = top + PANEL;
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT:.0}\" y=\"{:.0}\" font-weight=\"bold\">{}: {:.0} tokens at the input price</text>\
         <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{most:.0}</text>\
         <line x1=\"{LEFT:.0}\" y1=\"{bottom:.1}\" x2=\"{:.0}\" y2=\"{bottom:.1}\" stroke=\"#444\"/>",
        top - 4.0,
        name.replace('_', " "),
        replay.total.cost,
        LEFT - 6.0,
        top + 12.0,
        LEFT + WIDTH
    );
    let step = WIDTH / replay.requests.len().max(1) as f64;
    for (index, (served, traced)) in replay.requests.iter().zip(trace).enumerate() {
        let x = LEFT + index as f64 * step;
        let mut y = bottom;
        let parts = [served.read, served.written_short, served.written_long, served.uncached];
        let _ = write!(svg, "<g><title>request {} at {:.1} s: ", index + 1, traced.time);
        for ((name, _), tokens) in COLOURS.iter().zip(parts) {
            let _ = write!(svg, "{name} {tokens} ");
        }
        svg.push_str("</title>");
        for ((_, colour), tokens) in COLOURS.iter().zip(parts) {
            let height = tokens as f64 / most * (PANEL - 16.0);
            y -= height;
            if height > 0.0 {
                let width = (step * 0.9).max(0.5);
                let _ = write!(
                    svg,
                    "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{colour}\"/>"
                );
            }
        }
        svg.push_str("</g>\n");
    }
}

/// A page with the picture, the tables and what was found.
pub(super) fn html(
    trace: &[TracedRequest],
    replays: &[(&'static str, Replay)],
    tables: &[String],
    findings: &[String],
) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Prompt cache</title>\
         <style>body{font-family:sans-serif;max-width:70rem;margin:2rem auto}pre{overflow-x:auto}</style>\
         </head><body>\n<h1>Prompt cache</h1>\n",
    );
    page.push_str(&svg(trace, replays));
    for table in tables {
        let _ = writeln!(page, "<pre>{}</pre>", escaped(table));
    }
    for finding in findings {
        let _ = writeln!(page, "<p>{}</p>", escaped(finding));
    }
    page.push_str("</body></html>\n");
    page
}
