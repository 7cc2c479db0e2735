//! What pictures look like, and what holds for all of them.

use proptest::prelude::*;
use stave_picture::{Arrow, Box, Diagram, Style, Tone, dot, mermaid, svg};

fn one(id: &str, subtitle: &str, tone: Tone) -> Box {
    Box { id: id.to_owned(), title: id.to_owned(), subtitle: subtitle.to_owned(), tone }
}

fn arrow(from: &str, to: &str, label: &str, style: Style) -> Arrow {
    Arrow { from: from.to_owned(), to: to.to_owned(), label: label.to_owned(), style }
}

fn sample() -> Diagram {
    Diagram {
        title: "support & <sales>".to_owned(),
        boxes: vec![
            one("request", "", Tone::Border),
            one("fetch", "http.get", Tone::Outside),
            one("recall", "python", Tone::Memory),
            one("answer", "gpt-4o-mini", Tone::Model),
            one("lookup", "http.get", Tone::Outside),
            one("apologise", "io.format_response", Tone::Guard),
            one("response", "", Tone::Border),
        ],
        arrows: vec![
            arrow("request", "fetch", "user_id", Style::Plain),
            arrow("request", "recall", "session_id", Style::Plain),
            arrow("request", "answer", "question", Style::Plain),
            arrow("fetch", "answer", "customer", Style::Plain),
            arrow("recall", "answer", "len(value) > 0 and value[\"ok\"]", Style::Conditional),
            arrow("answer", "lookup", "find_order", Style::Call),
            arrow("answer", "apologise", "failed", Style::Failure),
            arrow("answer", "response", "reply", Style::Plain),
            arrow("apologise", "response", "reply", Style::Plain),
            arrow("answer", "nowhere", "lost", Style::Plain),
        ],
    }
}

#[test]
fn the_sample_is_drawn_as_committed() {
    insta::assert_snapshot!("svg", svg(&sample()));
    insta::assert_snapshot!("mermaid", mermaid(&sample()));
    insta::assert_snapshot!("dot", dot(&sample()));
}

#[test]
fn nothing_is_a_picture_too() {
    let nothing = Diagram::default();
    assert!(svg(&nothing).ends_with("</svg>\n"));
    assert!(mermaid(&nothing).starts_with("flowchart LR\n"));
    assert!(dot(&nothing).ends_with("}\n"));
}

/// The rectangles of boxes in an SVG: left, top, width, height.
fn boxes(picture: &str) -> Vec<[f64; 4]> {
    let number = |tag: &str, name: &str| {
        let from = tag.find(&format!(" {name}=\""))? + name.len() + 3;
        tag.get(from..)?.split('"').next()?.parse().ok()
    };
    picture
        .split("<g><rect")
        .skip(1)
        .filter(|tag| tag.contains("stroke-width=\"1.4\""))
        .filter_map(|tag| {
            Some([number(tag, "x")?, number(tag, "y")?, number(tag, "width")?, number(tag, "height")?])
        })
        .collect()
}

fn diagram() -> impl Strategy<Value = Diagram> {
    let tones =
        prop::sample::select(vec![Tone::Border, Tone::Step, Tone::Model, Tone::Outside, Tone::Memory]);
    let styles = prop::sample::select(vec![Style::Plain, Style::Conditional, Style::Failure, Style::Call]);
    let boxes = prop::collection::vec(("\\PC{0,40}", "[a-z.]{0,12}", tones), 1..16);
    (boxes, prop::collection::vec((0..16usize, 0..16usize, "\\PC{0,20}", styles), 0..30), "\\PC{0,20}")
        .prop_map(|(boxes, arrows, title)| Diagram {
            title,
            boxes: boxes
                .into_iter()
                .enumerate()
                .map(|(index, (title, subtitle, tone))| Box { id: index.to_string(), title, subtitle, tone })
                .collect(),
            arrows: arrows
                .into_iter()
                .map(|(from, to, label, style)| Arrow {
                    from: from.to_string(),
                    to: to.to_string(),
                    label,
                    style,
                })
                .collect(),
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn boxes_never_touch(diagram in diagram()) {
        let picture = svg(&diagram);
        let boxes = boxes(&picture);
        prop_assert_eq!(boxes.len(), diagram.boxes.len());
        for (index, [left, top, width, height]) in boxes.iter().copied().enumerate() {
            for [other_left, other_top, other_width, other_height] in boxes.iter().skip(index + 1).copied() {
                let apart = left + width <= other_left || other_left + other_width <= left
                    || top + height <= other_top || other_top + other_height <= top;
                prop_assert!(apart, "{}", picture);
            }
        }
    }

    #[test]
    fn no_text_leaves_its_place(diagram in diagram()) {
        let picture = svg(&diagram);
        let opened = picture.matches('<').count();
        prop_assert_eq!(opened, picture.matches('>').count());
        prop_assert_eq!(picture.matches("<text").count(), picture.matches("</text>").count());
        prop_assert!(!picture.contains("<script"));
        let lines = dot(&diagram).lines().count();
        prop_assert_eq!(lines, 4 + diagram.boxes.len() + diagram.arrows.len());
        prop_assert_eq!(&picture, &svg(&diagram));
    }
}
