//! A text as somebody sees it who looks for keys and numbers in it: without what takes no room, with plain spaces,
//! dashes and digits.
//!
//! Most texts are seen as they are written, and there is no second view of those. The way back is one more walk over
//! the text for the places that are asked for, so that a view costs no more memory than its text.
//!
//! Invariants: views and the way back take time linear in the text. A place in the text never divides a character.

use std::ops::Range;

use stave_canon::{Look, look};

/// The text as it is seen; `None` when that is how it is written.
pub(crate) fn as_seen(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let first = text.char_indices().find(|(_, character)| look(*character) != Look::Itself)?.0;
    let mut seen = String::with_capacity(text.len());
    seen.push_str(&text[..first]);
    seen.extend(text[first..].chars().filter_map(shown));
    Some(seen)
}

/// The places in the text of stretches of its view. A stretch holds at least one character.
pub(crate) fn in_text(text: &str, stretches: &[Range<usize>]) -> Vec<Range<usize>> {
    // The first and the last byte of each stretch, in order.
    let mut wanted: Vec<usize> =
        stretches.iter().flat_map(|stretch| [stretch.start, stretch.end.saturating_sub(1)]).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut places: Vec<Range<usize>> = Vec::with_capacity(wanted.len());
    let mut seen = 0;
    for (at, character) in text.char_indices() {
        seen += shown(character).map_or(0, char::len_utf8);
        while wanted.get(places.len()).is_some_and(|wanted| *wanted < seen) {
            places.push(at..at + character.len_utf8());
        }
        if places.len() == wanted.len() {
            break;
        }
    }
    let place = |at: usize| wanted.binary_search(&at).ok().and_then(|index| places.get(index));
    let back = |stretch: &Range<usize>| {
        let (first, last) = (place(stretch.start), place(stretch.end.saturating_sub(1)));
        first.zip(last).map_or(0..text.len(), |(first, last)| first.start..last.end)
    };
    stretches.iter().map(back).collect()
}

/// The places in the view of stretches of the text, which are in order.
pub(crate) fn in_view(text: &str, stretches: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut characters = text.char_indices().peekable();
    let mut seen = 0;
    let mut to = |place: usize| {
        while let Some((_, character)) = characters.next_if(|(at, _)| *at < place) {
            seen += shown(character).map_or(0, char::len_utf8);
        }
        seen
    };
    let view = |stretch: &Range<usize>| {
        let start = to(stretch.start);
        start..to(stretch.end)
    };
    stretches.iter().map(view).collect()
}

/// Whether a word could begin or end at a place of the text: what takes no room is an edge.
pub(crate) fn is_edge(text: &str, at: usize) -> bool {
    let is_word = |character: Option<char>| {
        let shown = character.and_then(shown);
        shown.is_some_and(|shown| shown.is_ascii_alphanumeric() || shown == '_')
    };
    let (before, after) = text.split_at(at);
    !is_word(before.chars().next_back()) || !is_word(after.chars().next())
}

fn shown(character: char) -> Option<char> {
    match look(character) {
        Look::Itself => Some(character),
        Look::Nothing => None,
        Look::Ascii(seen) => Some(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_is_seen_as_it_is_written_has_no_view() {
        for text in ["", "card 4111", "größer", "日本", "Привет"] {
            assert_eq!(as_seen(text), None, "{text}");
        }
        assert_eq!(as_seen("４\u{200b}1\u{a0}２").as_deref(), Some("41 2"));
    }

    proptest! {
        #[test]
        fn stretches_of_a_text_are_seen_one_after_the_other(
            pieces in prop::collection::vec("[a1 ４\u{200b}é日]{0,5}", 0..6),
        ) {
            let text = pieces.concat();
            let mut at = 0;
            let stretches: Vec<Range<usize>> = pieces.iter().map(|piece| {
                at += piece.len();
                at - piece.len()..at
            }).collect();
            let view = as_seen(&text).unwrap_or_else(|| text.clone());
            for (piece, place) in pieces.iter().zip(in_view(&text, &stretches)) {
                prop_assert_eq!(as_seen(piece).unwrap_or_else(|| piece.clone()), &view[place]);
            }
        }

        #[test]
        fn a_stretch_of_the_view_is_what_its_place_in_the_text_is_seen_as(
            text in "[a1 ４\u{200b}\u{a0}é日\u{336}٣]{1,12}",
            start in 0_usize..12,
            length in 1_usize..12,
        ) {
            let seen = as_seen(&text).unwrap_or_else(|| text.clone());
            let count = seen.chars().count();
            prop_assume!(start < count);
            let offset = |index: usize| seen.char_indices().nth(index).map_or(seen.len(), |(at, _)| at);
            let stretch = offset(start)..offset((start + length).min(count));
            let place = in_text(&text, std::slice::from_ref(&stretch)).remove(0);
            let piece = &text[place];
            prop_assert_eq!(as_seen(piece).unwrap_or_else(|| piece.to_owned()), &seen[stretch]);
        }
    }
}
