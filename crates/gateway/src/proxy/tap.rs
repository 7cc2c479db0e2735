//! Reads what a reply says about tokens while its bytes pass by. The bytes themselves are never touched.
//!
//! Invariant: of a stream no more than one line is kept, and of a whole reply no more than a bound; what is
//! beyond it passes all the same and goes unread.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use memchr::{memchr, memmem};
use stave_block::Surface;
use stave_llm::codec::StreamDecoder;
use stave_llm::{ErrorKind, StreamEvent, Usage};
use stave_lower::RequestBody;

use super::interface::codec;

/// The longest line of a stream that is read.
const LONGEST_LINE: usize = 4 << 20;
/// The longest whole reply that is read.
const LONGEST_REPLY: usize = 32 << 20;

/// A reader of one reply.
#[derive(Debug)]
pub(crate) struct Tap {
    surface: Surface,
    decoder: Box<dyn StreamDecoder>,
    form: Form,
    events: Vec<StreamEvent>,
    usage: Option<Usage>,
    /// Pieces of the answer that passed, each about a token.
    pieces: u64,
    is_over: bool,
    has_failed: bool,
    /// Whether reading failed, so that nothing more is read. What passes is not touched by it.
    is_blind: bool,
}

#[derive(Debug)]
enum Form {
    Stream {
        /// The line that is not whole yet.
        line: Vec<u8>,
        /// Whether the line is too long and is passed over.
        is_skipping: bool,
    },
    Whole {
        pieces: Vec<Bytes>,
        length: usize,
    },
}

impl Tap {
    pub(crate) fn stream(surface: Surface) -> Self {
        Tap::new(surface, Form::Stream { line: Vec::new(), is_skipping: false })
    }

    pub(crate) fn whole(surface: Surface) -> Self {
        Tap::new(surface, Form::Whole { pieces: Vec::new(), length: 0 })
    }

    fn new(surface: Surface, form: Form) -> Self {
        Tap {
            surface,
            decoder: codec(surface).stream_decoder(),
            form,
            events: Vec::new(),
            usage: None,
            pieces: 0,
            is_over: false,
            has_failed: false,
            is_blind: false,
        }
    }

    /// Takes in a piece of the reply.
    pub(crate) fn feed(&mut self, chunk: &Bytes) {
        self.guarded(|tap| tap.take_in(chunk));
    }

    /// A defect of ours costs the counts and never the stream.
    fn guarded(&mut self, read: impl FnOnce(&mut Tap)) {
        if !self.is_blind {
            self.is_blind = catch_unwind(AssertUnwindSafe(|| read(self))).is_err();
        }
    }

    fn take_in(&mut self, chunk: &Bytes) {
        match &mut self.form {
            Form::Whole { pieces, length } => {
                *length += chunk.len();
                if *length <= LONGEST_REPLY {
                    pieces.push(chunk.clone());
                }
            }
            Form::Stream { .. } => self.feed_stream(chunk),
        }
    }

    fn feed_stream(&mut self, mut rest: &[u8]) {
        while let Some(end) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            let Form::Stream { line: kept, is_skipping } = &mut self.form else { return };
            if std::mem::take(is_skipping) {
                kept.clear();
            } else if kept.is_empty() {
                self.read_line(line);
            } else {
                kept.extend_from_slice(line);
                let mut whole = std::mem::take(kept);
                self.read_line(&whole);
                whole.clear();
                if let Form::Stream { line, .. } = &mut self.form {
                    *line = whole;
                }
            }
        }
        let Form::Stream { line, is_skipping } = &mut self.form else { return };
        if line.len() + rest.len() > LONGEST_LINE {
            line.clear();
            *is_skipping = true;
        } else if !*is_skipping {
            line.extend_from_slice(rest);
        }
    }

    fn read_line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(data) = line.strip_prefix(b"data:") else { return };
        let data = data.strip_prefix(b" ").unwrap_or(data);
        if data == b"[DONE]" {
            self.is_over = true;
            return;
        }
        self.pieces += u64::from(is_piece(self.surface, data));
        let is_last = is_last(self.surface, data);
        self.is_over |= is_last;
        if memmem::find(data, b"\"error\"").is_some() {
            if let Ok(text) = std::str::from_utf8(data)
                && matches!(self.decoder.decode(text, &mut self.events), Err(ErrorKind::Status { .. }))
            {
                self.has_failed = true;
            }
            self.take_usage();
        } else if let Some(usage) = usage_object(data) {
            self.read_usage(data.get(usage).unwrap_or_default());
        }
    }

    /// Takes the counts of a `usage` object, whatever stands around it.
    fn read_usage(&mut self, usage: &[u8]) {
        let counts = stave_canon::parse_bytes(usage).ok().and_then(|usage| self.decoder.counts(usage));
        self.usage = counts.or(self.usage);
    }

    fn take_usage(&mut self) {
        for event in self.events.drain(..) {
            if let StreamEvent::Usage(usage) = event {
                self.usage = Some(usage);
            }
        }
    }

    /// Reads what is left once the reply has ended.
    pub(crate) fn finish(&mut self) {
        self.guarded(Tap::read_rest);
        // Whoever can not read how a reply ends believes the connection.
        self.is_over |= self.is_blind;
    }

    fn read_rest(&mut self) {
        match &mut self.form {
            Form::Stream { line, .. } => {
                // The last line counts although nothing ends it.
                let line = std::mem::take(line);
                self.read_line(&line);
            }
            Form::Whole { pieces, length } => {
                self.is_over = true;
                if *length > LONGEST_REPLY {
                    return;
                }
                let whole = match pieces.as_slice() {
                    [one] => one.clone(),
                    many => many.concat().into(),
                };
                pieces.clear();
                let Ok(text) = std::str::from_utf8(&whole) else { return };
                let usage = RequestBody::read(text).ok().and_then(|reply| reply.range("usage"));
                if let Some(usage) = usage {
                    self.read_usage(&whole[usage]);
                }
            }
        }
    }

    /// The tokens, as far as they were told.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// About how many tokens of the answer passed, for a stream that does not tell.
    pub(crate) fn pieces(&self) -> u64 {
        self.pieces
    }

    /// Whether the stream told an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether the reply came to its own end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

/// The `usage` object of an event. A text that speaks of one has its quotes escaped.
fn usage_object(data: &[u8]) -> Option<Range<usize>> {
    let mut from = 0;
    loop {
        let at = from + memmem::find(data.get(from..)?, b"\"usage\"")?;
        let after = at + b"\"usage\"".len();
        let rest = data.get(after..)?.trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start)
            && value.first() == Some(&b'{')
        {
            let start = data.len() - value.len();
            return Some(start..start + object_length(value)?);
        }
        from = after;
    }
}

/// How long the object is that a text begins with.
fn object_length(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut is_inside = false;
    let mut is_escaped = false;
    for (index, byte) in text.iter().enumerate() {
        if is_inside {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_inside = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_inside = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_piece(surface: Surface, data: &[u8]) -> bool {
    let start = data.get(..data.len().min(96)).unwrap_or_default();
    match surface {
        Surface::AnthropicMessages => memmem::find(start, b"content_block_delta").is_some(),
        Surface::OpenAiResponses => memmem::find(start, b".delta\"").is_some(),
        Surface::OpenAiChat | Surface::GeminiGenerateContent => memmem::find(data, b"\"delta\"").is_some(),
    }
}

fn is_last(surface: Surface, data: &[u8]) -> bool {
    let start = data.get(..data.len().min(96)).unwrap_or_default();
    match surface {
        Surface::AnthropicMessages => memmem::find(start, b"\"message_stop\"").is_some(),
        Surface::OpenAiResponses => {
            let ends: [&[u8]; 3] = [b"response.completed\"", b"response.incomplete\"", b"response.failed\""];
            ends.iter().any(|end| memmem::find(start, end).is_some())
        }
        Surface::OpenAiChat | Surface::GeminiGenerateContent => false,
    }
}

#[cfg(test)]
mod tests {
    use stave_canon::Value;

    use super::*;

    fn read(surface: Surface, text: &str, step: usize) -> Tap {
        let mut tap = Tap::stream(surface);
        for chunk in text.as_bytes().chunks(step) {
            tap.feed(&Bytes::copy_from_slice(chunk));
        }
        tap.finish();
        tap
    }

    const MESSAGES: &str = concat!(
        ": a comment\r\n\r\n",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":100,\"output_tokens\":1}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"the \\\"usage\\\": {\\\"input_tokens\\\": 9} é\"}}\r\n\r\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );

    #[test]
    fn counts_are_read_however_the_stream_is_cut() {
        for step in [1, 2, 3, 7, 64, 100_000] {
            let tap = read(Surface::AnthropicMessages, MESSAGES, step);
            let usage = tap.usage().unwrap();
            assert_eq!((usage.input, usage.cache_read, usage.output), (105, 100, 7), "{step}");
            assert!(tap.is_over() && !tap.has_failed());
            assert_eq!(tap.pieces(), 1);
        }
        let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]";
        let tap = read(Surface::OpenAiChat, chat, 5);
        assert_eq!(tap.usage().map(|usage| (usage.input, usage.output)), Some((3, 2)));
        assert!(tap.is_over());
        let responses = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":4,\"output_tokens\":6}}}\n\n";
        let tap = read(Surface::OpenAiResponses, responses, 9);
        assert_eq!(tap.usage().map(|usage| (usage.input, usage.output)), Some((4, 6)));
        assert!(tap.is_over());
    }

    #[test]
    fn a_stream_that_breaks_off_or_tells_an_error_is_known_for_it() {
        assert!(!read(Surface::AnthropicMessages, &MESSAGES[..200], 50).is_over());
        let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
        assert!(read(Surface::AnthropicMessages, error, 10).has_failed());
        let long = format!("data: {}\n\n{MESSAGES}", "x".repeat(LONGEST_LINE + 10));
        assert!(read(Surface::AnthropicMessages, &long, 100_000).usage().is_some());
    }

    #[test]
    fn a_whole_reply_is_read_at_its_top_only() {
        let mut tap = Tap::whole(Surface::AnthropicMessages);
        let reply = r#"{"content":[{"type":"tool_use","input":{"usage":{"input_tokens":1}}}],"usage":{"input_tokens":2,"output_tokens":3}}"#;
        tap.feed(&Bytes::from_static(&reply.as_bytes()[..40]));
        tap.feed(&Bytes::from_static(&reply.as_bytes()[40..]));
        tap.finish();
        assert_eq!(tap.usage().map(|usage| (usage.input, usage.output)), Some((2, 3)));
        let mut odd = Tap::whole(Surface::OpenAiChat);
        odd.feed(&Bytes::from_static(b"<html>\xff</html>"));
        odd.finish();
        assert_eq!(odd.usage(), None);
    }

    /// A decoder with a defect.
    #[derive(Debug)]
    struct Defect;

    impl StreamDecoder for Defect {
        fn decode(&mut self, _: &str, _: &mut Vec<StreamEvent>) -> Result<(), ErrorKind> {
            panic!("a defect");
        }

        fn counts(&mut self, _: Value) -> Option<Usage> {
            panic!("a defect");
        }

        fn progress(&self) -> stave_llm::codec::Progress {
            stave_llm::codec::Progress::Running
        }
    }

    #[test]
    fn a_defect_of_the_reader_costs_the_counts_only() {
        let mut tap = Tap::stream(Surface::AnthropicMessages);
        tap.decoder = Box::new(Defect);
        for chunk in MESSAGES.as_bytes().chunks(40) {
            tap.feed(&Bytes::copy_from_slice(chunk));
        }
        tap.finish();
        assert_eq!((tap.usage(), tap.has_failed(), tap.is_over()), (None, false, true));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_pass(bytes: Vec<u8>, step in 1_usize..20) {
            for surface in [Surface::OpenAiChat, Surface::OpenAiResponses, Surface::AnthropicMessages] {
                let mut tap = Tap::stream(surface);
                bytes.chunks(step).for_each(|chunk| tap.feed(&Bytes::copy_from_slice(chunk)));
                tap.finish();
            }
        }
    }
}
