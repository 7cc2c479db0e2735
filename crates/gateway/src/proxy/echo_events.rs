//! The key of an upstream in several events of a stream: each has a few letters of it, and a reader joins them.
//!
//! Every string of an event continues the string at the same place of an earlier event: the same members, and the
//! same `index` and `item_id` around it. An event is held back until it is whole, and from [`SUSPICIOUS`] letters of the
//! key on until the next event at that place says whether the key continues.
//!
//! Invariant: what is held is bounded. When the bound is reached, what could be the beginning of the key is masked.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::echo::{KeyEcho, LONG_BEGINNING, MASK};

/// Fewer letters of a key are in ordinary words, and a stream that stops at each of them would stutter.
const SUSPICIOUS: usize = 4;

/// The most that is held back.
const MOST_HELD: usize = 1 << 20;

/// The most places of strings that are followed at a time.
const MOST_PLACES: usize = 256;

#[derive(Debug)]
pub(super) struct EventMask {
    key: Arc<KeyEcho>,
    /// What came and was not passed on.
    held: Vec<u8>,
    /// How many bytes were passed on before.
    passed: u64,
    /// How much of what is held was read, event by event.
    read: usize,
    /// Where the line begins that is not whole yet, and how far its end was looked for.
    line: (usize, usize),
    places: HashMap<u64, Followed>,
}

/// What is said at one place, event after event: the end of it, which could be the beginning of the key.
#[derive(Debug, Default)]
struct Followed {
    /// The strings as they are in JSON, one after the other.
    text: Vec<u8>,
    /// Where in the text, and where in the stream, each string begins.
    strings: Vec<(usize, u64)>,
    /// Where in the stream a beginning of the key begins that has enough letters to be held.
    suspicious: Option<u64>,
}

impl EventMask {
    pub(super) fn new(key: Arc<KeyEcho>) -> EventMask {
        EventMask { key, held: Vec::new(), passed: 0, read: 0, line: (0, 0), places: HashMap::new() }
    }

    /// What can be passed on of the events so far.
    pub(super) fn pass(&mut self, data: &[u8]) -> Bytes {
        self.held.extend_from_slice(data);
        while let Some(end) = self.end_of_event() {
            self.event(self.read..end);
            self.read = end;
        }
        let mut until = self.read;
        if let Some(place) = self.places.values().filter_map(|place| place.suspicious).min() {
            until = until.min(self.in_held(place));
        }
        if self.held.len() - until > MOST_HELD {
            self.mask_begun(SUSPICIOUS);
            until = self.held.len();
        }
        self.release(until)
    }

    /// What is left once there is no more.
    pub(super) fn finish(&mut self, data: &[u8]) -> Bytes {
        self.held.extend_from_slice(data);
        self.event(self.read..self.held.len());
        self.mask_begun(LONG_BEGINNING);
        self.release(self.held.len())
    }

    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Where the event ends that is not read yet, after its empty line. Every byte is looked at once.
    fn end_of_event(&mut self) -> Option<usize> {
        loop {
            let (line, looked) = self.line;
            let Some(end) = self.held.get(looked..).and_then(|rest| memchr::memchr(b'\n', rest)) else {
                self.line.1 = self.held.len();
                return None;
            };
            let end = looked + end;
            self.line = (end + 1, end + 1);
            let content = self.held.get(line..end).unwrap_or_default();
            if content.is_empty() || content == b"\r" {
                return Some(end + 1);
            }
        }
    }

    fn release(&mut self, until: usize) -> Bytes {
        if until == 0 {
            return Bytes::new();
        }
        let rest = self.held.split_off(until);
        let passed = std::mem::replace(&mut self.held, rest);
        self.passed += passed.len() as u64;
        self.read = self.read.saturating_sub(until);
        self.line = (self.line.0.saturating_sub(until), self.line.1.saturating_sub(until));
        passed.into()
    }

    /// Where a place of the stream is in what is held; what was passed on is before it.
    fn in_held(&self, place: u64) -> usize {
        usize::try_from(place.saturating_sub(self.passed)).unwrap_or(usize::MAX).min(self.held.len())
    }

    fn mask_begun(&mut self, least: usize) {
        let mut found = Vec::new();
        for place in self.places.values() {
            let from = self.key.beginnings.held_from(&place.text, least);
            place.in_stream(from..place.text.len(), &mut found);
        }
        self.mask(found);
        self.places.clear();
    }

    fn mask(&mut self, parts: Vec<Range<u64>>) {
        for part in parts {
            let range = self.in_held(part.start)..self.in_held(part.end);
            self.held.get_mut(range).unwrap_or_default().fill(MASK);
        }
    }

    /// Reads the strings of a whole event.
    fn event(&mut self, range: Range<usize>) {
        let mut found: Vec<Range<u64>> = Vec::new();
        let event = self.held.get(range.clone()).unwrap_or_default();
        let mut at = range.start;
        for line in event.split_inclusive(|byte| *byte == b'\n') {
            if let Some(data) = line.strip_prefix(b"data:") {
                let start = self.passed + (at + 5) as u64;
                for (place, string) in strings(data) {
                    if self.places.len() >= MOST_PLACES && !self.places.contains_key(&place) {
                        self.places.clear();
                    }
                    let followed = self.places.entry(place).or_default();
                    let text = data.get(string.clone()).unwrap_or_default();
                    followed.read(&self.key, text, start + string.start as u64, &mut found);
                }
            }
            at += line.len();
        }
        self.mask(found);
    }
}

impl Followed {
    /// Reads a string in its JSON form, and gives the places of keys that end in it.
    fn read(&mut self, key: &KeyEcho, string: &[u8], start: u64, found: &mut Vec<Range<u64>>) {
        self.strings.push((self.text.len(), start));
        self.text.extend_from_slice(string);
        for hit in key.search.find(&self.text) {
            self.in_stream(hit.clone(), found);
            self.text.get_mut(hit).unwrap_or_default().fill(MASK);
        }
        let from = key.beginnings.held_from(&self.text, SUSPICIOUS);
        self.suspicious = (from < self.text.len()).then(|| self.place(from)).flatten();
        self.forget(key.beginnings.held_from(&self.text, 1).min(from));
    }

    /// Where in the stream a part of the text is.
    fn in_stream(&self, part: Range<usize>, found: &mut Vec<Range<u64>>) {
        let ends = self.strings.iter().skip(1).map(|(at, _)| *at).chain([self.text.len()]);
        for ((at, start), end) in self.strings.iter().zip(ends) {
            let (from, to) = (part.start.max(*at), part.end.min(end));
            if from < to {
                found.push(start + (from - at) as u64..start + (to - at) as u64);
            }
        }
    }

    fn place(&self, at: usize) -> Option<u64> {
        let (from, start) = self.strings.iter().rev().find(|(from, _)| *from <= at)?;
        Some(start + (at - from) as u64)
    }

    /// Drops the text before a place.
    fn forget(&mut self, until: usize) {
        let place = self.place(until);
        self.text.drain(..until);
        self.strings.retain(|(at, _)| *at > until);
        self.strings.iter_mut().for_each(|(at, _)| *at -= until);
        if let Some(place) = place.filter(|_| !self.text.is_empty()) {
            self.strings.insert(0, (0, place));
        } else if self.text.is_empty() {
            self.strings.clear();
        }
    }
}

/// Members that say which of several things of a kind a string belongs to.
const NUMBERS: [&[u8]; 5] = [b"index", b"output_index", b"content_index", b"summary_index", b"item_id"];

/// An object or an array of an event.
struct Container {
    parent: usize,
    /// The member of its parent that it is.
    member: u64,
    /// What says which of several it is.
    number: u64,
    /// The member that is being read.
    current: u64,
    is_number: bool,
}

/// The values of an event that are strings, each with a number for its place.
fn strings(json: &[u8]) -> Vec<(u64, Range<usize>)> {
    let mut containers = vec![Container { parent: 0, member: 0, number: 0, current: 0, is_number: false }];
    let mut open: Vec<usize> = Vec::new();
    let mut strings: Vec<(usize, u64, Range<usize>)> = Vec::new();
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let top = open.last().copied().unwrap_or_default();
        match byte {
            b'{' | b'[' => {
                let member = containers.get(top).map_or(0, |container| container.current);
                open.push(containers.len());
                containers.push(Container { parent: top, member, number: 0, current: 0, is_number: false });
            }
            b'}' | b']' => {
                open.pop();
            }
            b'"' => {
                let end = end_of_string(json, at + 1);
                let text = json.get(at + 1..end).unwrap_or_default();
                let is_key =
                    json.get(end + 1..).is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b':'));
                if let Some(container) = containers.get_mut(top) {
                    if is_key {
                        container.current = hashed(0, text);
                        container.is_number = NUMBERS.contains(&text);
                    } else {
                        if container.is_number {
                            container.number = hashed(container.number, text);
                        }
                        strings.push((top, container.current, at + 1..end));
                    }
                }
                at = end;
            }
            b'0'..=b'9' => {
                let length = json
                    .get(at..)
                    .map_or(1, |rest| rest.iter().take_while(|byte| byte.is_ascii_digit()).count());
                if let Some(container) = containers.get_mut(top).filter(|container| container.is_number) {
                    container.number =
                        hashed(container.number, json.get(at..at + length).unwrap_or_default());
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    // A container comes after the one that it is in.
    let mut places: Vec<u64> = Vec::with_capacity(containers.len());
    for container in &containers {
        let parent = places.get(container.parent).copied().unwrap_or_default();
        places.push(mixed(mixed(parent, container.member), container.number));
    }
    let place = |container: usize| places.get(container).copied().unwrap_or_default();
    strings.into_iter().map(|(container, member, range)| (mixed(place(container), member), range)).collect()
}

fn end_of_string(json: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(stop) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += stop;
        if json.get(at) == Some(&b'"') {
            return at;
        }
        at += 2;
    }
    json.len()
}

fn hashed(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(mixed(start, 0x51), |hash, byte| mixed(hash, u64::from(*byte)))
}

fn mixed(one: u64, other: u64) -> u64 {
    (one.rotate_left(5) ^ other).wrapping_mul(0x517c_c1b7_2722_0a95)
}

#[cfg(test)]
mod tests {
    use stave_llm::Secret;

    use super::*;

    fn mask() -> EventMask {
        EventMask::new(Arc::new(KeyEcho::new(Some(Secret::new("sk-upstream-1234")))))
    }

    fn delta(index: usize, text: &str) -> String {
        let text = stave_canon::Value::from(text);
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{text}}},\"index\":{index}}}]}}\n\n")
    }

    fn text(passed: &str, index: usize) -> String {
        let events = passed.lines().filter_map(|line| line.strip_prefix("data: "));
        let values = events.map(|data| stave_canon::parse(data).unwrap());
        let choices = values.filter_map(|value| value.pointer("/choices/0").cloned());
        let index = index.to_string();
        choices
            .filter(|choice| choice.pointer("/index").is_some_and(|number| number.to_string() == index))
            .filter_map(|choice| {
                choice.pointer("/delta/content").and_then(|text| text.as_str().map(str::to_owned))
            })
            .collect()
    }

    #[test]
    fn a_key_in_several_events_is_masked_and_the_rest_passes_at_once() {
        let mut mask = mask();
        let hello = delta(0, "it is ");
        assert_eq!(mask.pass(hello.as_bytes()), hello);
        let mut passed = hello;
        for piece in ["sk-up", "str", "\u{200b}eam", "-12", "34", " indeed"] {
            passed += std::str::from_utf8(&mask.pass(delta(0, piece).as_bytes())).unwrap();
            assert!(!passed.contains("sk-up"), "{passed}");
        }
        assert!(!mask.is_holding());
        let said = text(&passed, 0);
        assert!(said.starts_with("it is ****") && said.ends_with("** indeed"), "{said}");
        assert!(!said.contains(char::is_numeric), "{said}");
    }

    #[test]
    fn letters_that_come_one_by_one_show_less_than_a_word() {
        let (mut mask, mut passed) = (mask(), Vec::new());
        for letter in "the key sk-upstream-1234.".chars() {
            passed.extend_from_slice(&mask.pass(delta(0, &letter.to_string()).as_bytes()));
        }
        passed.extend_from_slice(&mask.finish(b""));
        assert_eq!(text(std::str::from_utf8(&passed).unwrap(), 0), "the key sk-*************.");
    }

    #[test]
    fn replies_that_come_side_by_side_are_told_apart() {
        let (mut mask, mut passed) = (mask(), Vec::new());
        for (index, piece) in [(0, "sk-upst"), (1, "fine "), (0, "ream-"), (1, "too"), (0, "1234"), (0, "!")]
        {
            passed.extend_from_slice(&mask.pass(delta(index, piece).as_bytes()));
        }
        let passed = std::str::from_utf8(&passed).unwrap();
        assert_eq!((text(passed, 0).as_str(), text(passed, 1).as_str()), ("****************!", "fine too"));
        assert!(!mask.is_holding());
    }

    #[test]
    fn what_is_held_is_bounded_and_nothing_is_lost() {
        let (mut mask, mut length) = (mask(), 0);
        let mut passed = mask.pass(delta(0, "sk-upstream").as_bytes()).len();
        length += delta(0, "sk-upstream").len();
        assert_eq!(passed, delta(0, "sk-upstream").find("sk-").unwrap());
        let other = delta(1, &"x".repeat(1000));
        while length < 3 * MOST_HELD {
            passed += mask.pass(other.as_bytes()).len();
            length += other.len();
            assert!(length - passed <= MOST_HELD + other.len());
        }
        passed += mask.finish(b"").len();
        assert_eq!(passed, length);
        let mut endless = mask_of_line();
        assert!(endless.held.len() <= MOST_HELD);
        assert!(!endless.finish(b"").is_empty());
    }

    fn mask_of_line() -> EventMask {
        let mut mask = mask();
        for _ in 0..3000 {
            mask.pass(&[b'x'; 1000]);
        }
        mask
    }
}
