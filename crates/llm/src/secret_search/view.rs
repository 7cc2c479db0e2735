//! The ways of reading a text, as one pipeline.
//!
//! A text is read as it is and with up to [`LAYERS`] layers of escapes taken off; each layer may have escapes of all kinds.
//! Where a text has several kinds, it is also read with each kind alone taken off: a secret may itself look like an escape of
//! another kind. What each of these gives, and the byte values listed in it, is searched in three aspects: as it is
//! written, as it is seen, and as hexadecimal digits.
//!
//! Invariant: every step is one walk over its input, never makes it longer, and the number of steps is fixed. The work is
//! linear in the length of the text.

use std::borrow::Cow;
use std::ops::Range;

use super::escapes::{Kinds, unescape};
use super::{merged, numbers, seen};

/// How many layers of escapes are taken off.
const LAYERS: usize = 3;

/// What is looked for in a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    /// Short secrets, as they are.
    Written,
    /// Other secrets, without space and without what takes no room.
    Seen,
    /// Hexadecimal digits, without what is between them.
    Digits,
}

/// Whether a text is whole, or more of it may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Open,
}

/// Takes what a step of the pipeline gives, in order.
pub(super) trait Sink {
    /// A part of the input, as it is.
    fn copy(&mut self, input: &[u8], part: Range<usize>);
    /// Bytes that a part of the input stands for.
    fn put(&mut self, bytes: &[u8], place: Range<usize>);
}

/// A step of the pipeline.
#[derive(Debug, Clone, Copy)]
enum Step {
    Escapes(Kinds),
    ByteValues,
    Seen,
    Digits,
}

impl Step {
    /// Gives the place where something begins that the end of an open text cuts off.
    fn run<S: Sink>(self, input: &[u8], extent: Extent, sink: &mut S) -> usize {
        match self {
            Step::Escapes(kinds) => unescape(input, kinds, extent, sink),
            Step::ByteValues => numbers::byte_values(input, extent, sink),
            Step::Seen => seen::see(input, extent, sink),
            Step::Digits => numbers::digits(input, extent, sink),
        }
    }
}

/// A text as some steps read it.
pub(super) struct Reading<'t> {
    pub(super) bytes: Cow<'t, [u8]>,
    extent: Extent,
    made: Option<(&'t Reading<'t>, Step)>,
    /// Where in what it was made from something is cut off.
    cut: Option<usize>,
}

impl<'t> Reading<'t> {
    fn of(text: &'t [u8], extent: Extent) -> Reading<'t> {
        Reading { bytes: Cow::Borrowed(text), extent, made: None, cut: None }
    }

    fn then(&'t self, step: Step) -> Reading<'t> {
        let mut bytes = Vec::new();
        let end = step.run(&self.bytes, self.extent, &mut bytes);
        let cut = Some(end).filter(|end| *end < self.bytes.len());
        Reading { bytes: Cow::Owned(bytes), extent: self.extent, made: Some((self, step)), cut }
    }

    /// Where in the text some parts of this reading are; the parts are in order and apart from each other.
    pub(super) fn places(&self, mut parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let mut reading = self;
        while let Some((from, step)) = reading.made {
            let mut trace = Trace::of(parts);
            step.run(&from.bytes, from.extent, &mut trace);
            parts = merged(trace.places);
            reading = from;
        }
        parts
    }

    /// Where in the text a byte of this reading begins.
    pub(super) fn place(&self, at: usize) -> usize {
        let part = at..at + 1;
        self.places(Vec::from([part])).first().map_or(0, |place| place.start)
    }

    /// Where in the text something begins that its end cuts off.
    pub(super) fn cut_place(&self) -> Option<usize> {
        let (from, _) = self.made?;
        Some(from.place(self.cut?))
    }
}

/// Shows every reading of a text in every aspect.
pub(super) fn each_reading(text: &[u8], extent: Extent, visit: &mut dyn FnMut(Aspect, &Reading<'_>)) {
    let text = Reading::of(text, extent);
    aspects(&text, visit);
    let kinds = Kinds::in_text(&text.bytes);
    if !kinds.has(Kinds::ALL) {
        return;
    }
    let inner = text.then(Step::Escapes(Kinds::ALL));
    if inner.bytes == text.bytes {
        return;
    }
    layer(&inner, LAYERS, visit);
    if kinds.are_several() {
        for kind in Kinds::EACH.into_iter().filter(|kind| kinds.has(*kind)) {
            let one = text.then(Step::Escapes(kind));
            if one.bytes != text.bytes && one.bytes != inner.bytes {
                aspects(&one, visit);
            }
        }
    }
}

/// Shows a layer, and those that are left inside it.
fn layer(outer: &Reading<'_>, left: usize, visit: &mut dyn FnMut(Aspect, &Reading<'_>)) {
    aspects(outer, visit);
    if left > 1 && Kinds::in_text(&outer.bytes).has(Kinds::ALL) {
        let inner = outer.then(Step::Escapes(Kinds::ALL));
        if inner.bytes != outer.bytes {
            layer(&inner, left - 1, visit);
        }
    }
}

fn aspects(reading: &Reading<'_>, visit: &mut dyn FnMut(Aspect, &Reading<'_>)) {
    shown(reading, visit);
    let listed = reading.then(Step::ByteValues);
    if !listed.bytes.is_empty() || listed.cut.is_some() {
        shown(&listed, visit);
    }
}

fn shown(reading: &Reading<'_>, visit: &mut dyn FnMut(Aspect, &Reading<'_>)) {
    visit(Aspect::Written, reading);
    if seen::is_as_written(&reading.bytes) {
        visit(Aspect::Seen, reading);
    } else {
        visit(Aspect::Seen, &reading.then(Step::Seen));
    }
    let digits = reading.then(Step::Digits);
    if !digits.bytes.is_empty() || digits.cut.is_some() {
        visit(Aspect::Digits, &digits);
    }
}

/// A form as it is looked for in a text as it is seen.
pub(super) fn as_seen(form: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    seen::see(form, Extent::Whole, &mut bytes);
    bytes
}

/// A text without one layer of escapes.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    unescape(text, Kinds::ALL, Extent::Whole, &mut bytes);
    bytes
}

impl Sink for Vec<u8> {
    fn copy(&mut self, input: &[u8], part: Range<usize>) {
        self.extend_from_slice(input.get(part).unwrap_or_default());
    }

    fn put(&mut self, bytes: &[u8], _: Range<usize>) {
        self.extend_from_slice(bytes);
    }
}

/// Finds out where in the input of a step some parts of its output come from, without keeping the output: places are
/// needed for a hit only, and a reply without a secret is the usual one.
struct Trace {
    /// Parts of the output, in order and apart from each other.
    parts: Vec<Range<usize>>,
    places: Vec<Range<usize>>,
    /// How much of the output there was, and how many parts ended in it.
    output: usize,
    ended: usize,
}

impl Trace {
    fn of(parts: Vec<Range<usize>>) -> Trace {
        Trace { places: Vec::with_capacity(parts.len()), parts, output: 0, ended: 0 }
    }

    fn advance(&mut self, count: usize, place: impl Fn(usize) -> Range<usize>) {
        let end = self.output + count;
        while let Some(part) = self.parts.get(self.places.len()).filter(|part| part.start < end) {
            self.places.push(place(part.start - self.output));
        }
        while let Some(part) = self.parts.get(self.ended).filter(|part| part.end <= end) {
            let last = place(part.end - 1 - self.output).end;
            if let Some(place) = self.places.get_mut(self.ended) {
                place.end = last;
            }
            self.ended += 1;
        }
        self.output = end;
    }
}

impl Sink for Trace {
    fn copy(&mut self, _: &[u8], part: Range<usize>) {
        self.advance(part.len(), |at| part.start + at..part.start + at + 1);
    }

    fn put(&mut self, bytes: &[u8], place: Range<usize>) {
        self.advance(bytes.len(), |_| place.clone());
    }
}
