//! Reads the usage of a reply while its bytes pass through. The bytes themselves are never changed.
//!
//! Invariant: of a stream no more than one event is kept, and of a whole reply no more than a bound; what is
//! beyond it passes all the same, and counts by its bytes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use memchr::memchr2;
use stave_block::Surface;

use super::tally::Tally;

/// The longest event of a stream that is read.
const LONGEST_EVENT: usize = 4 << 20;
/// The longest whole reply that is read.
const LONGEST_REPLY: usize = 32 << 20;

/// What begins a line of a stream that says nothing about the answer, as long as the line is short.
const FRAMING: [&[u8]; 4] = [b":", b"event:", b"id:", b"retry:"];
const LONGEST_FRAMING: usize = 256;

/// The mark of byte order that a text may begin with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A reader of one reply.
#[derive(Debug)]
pub(crate) struct Tap {
    tally: Tally,
    form: Form,
    is_over: bool,
    /// Whether reading failed, so that nothing more is read. What passes is not touched by it.
    is_blind: bool,
}

#[derive(Debug)]
enum Form {
    Stream(Lines),
    Whole {
        pieces: Vec<Bytes>,
        length: usize,
    },
    /// Bytes that are packed in a way that nobody asked for.
    Opaque,
}

/// The lines of a stream of server-sent events.
#[derive(Debug, Default)]
struct Lines {
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The data of the event that is not whole yet.
    data: Vec<u8>,
    /// Whether the event is too long and is passed over.
    is_skipping: bool,
    /// Whether a line was read.
    is_begun: bool,
    /// Whether the last line ended in a carriage return, to which a line feed may belong.
    is_after_return: bool,
    /// What came before any event: a reply that is said to be a stream may be a whole one.
    before_events: Vec<u8>,
    /// Whether an event came.
    has_events: bool,
}

impl Tap {
    pub(crate) fn stream(surface: Surface) -> Self {
        Tap::new(surface, Form::Stream(Lines::default()))
    }

    pub(crate) fn whole(surface: Surface) -> Self {
        Tap::new(surface, Form::Whole { pieces: Vec::new(), length: 0 })
    }

    /// A reader of a reply that cannot be read.
    pub(crate) fn opaque(surface: Surface) -> Self {
        let mut tap = Tap::new(surface, Form::Opaque);
        tap.tally.opaque();
        tap
    }

    fn new(surface: Surface, form: Form) -> Self {
        Tap { tally: Tally::new(surface), form, is_over: false, is_blind: false }
    }

    /// Takes in a piece of the reply.
    pub(crate) fn feed(&mut self, chunk: &Bytes) {
        self.guarded(|tap| tap.take_in(chunk));
    }

    /// A defect of ours costs the counts and never the stream.
    fn guarded(&mut self, read: impl FnOnce(&mut Tap)) {
        if !self.is_blind && catch_unwind(AssertUnwindSafe(|| read(self))).is_err() {
            self.blind();
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
            Form::Stream(lines) => lines.feed(chunk, &mut self.tally),
            Form::Opaque => {}
        }
    }

    /// Reads what is left once the reply has ended.
    pub(crate) fn finish(&mut self) {
        self.guarded(Tap::read_rest);
        // Without a readable end of the reply, the end of the connection counts.
        self.is_over |= self.is_blind;
    }

    fn read_rest(&mut self) {
        match &mut self.form {
            Form::Stream(lines) => lines.finish(&mut self.tally),
            Form::Opaque => self.is_over = true,
            Form::Whole { pieces, length } => {
                // A whole reply is over when its connection says so.
                self.is_over = true;
                let (pieces, length) = (std::mem::take(pieces), std::mem::take(length));
                if length > LONGEST_REPLY {
                    return self.tally.unread(length);
                }
                let whole: Bytes = match pieces.as_slice() {
                    [one] => one.clone(),
                    many => many.concat().into(),
                };
                match std::str::from_utf8(&whole) {
                    Ok(text) => self.tally.whole(text),
                    Err(_) => self.tally.unread(length),
                }
            }
        }
    }

    /// Says that what passed cannot be known.
    pub(crate) fn blind(&mut self) {
        self.is_blind = true;
        self.tally.opaque();
    }

    /// What was counted.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether the stream told an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.tally.has_failed()
    }

    /// Whether the reply is complete.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over || self.tally.is_over()
    }
}

impl Lines {
    fn feed(&mut self, mut rest: &[u8], tally: &mut Tally) {
        loop {
            if self.is_after_return && !rest.is_empty() {
                self.is_after_return = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else { break };
            let (line, after) = rest.split_at(end);
            self.is_after_return = after.starts_with(b"\r");
            rest = after.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.line(line, tally);
            } else {
                self.line.extend_from_slice(line);
                let mut whole = std::mem::take(&mut self.line);
                self.line(&whole, tally);
                whole.clear();
                self.line = whole;
            }
        }
        if self.line.len() + rest.len() > LONGEST_EVENT {
            tally.unread(self.line.len() + rest.len());
            self.line.clear();
            self.is_skipping = true;
        } else {
            self.line.extend_from_slice(rest);
        }
    }

    fn line(&mut self, line: &[u8], tally: &mut Tally) {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(line);
        if line.is_empty() {
            return self.event(tally);
        }
        let Some(data) = line.strip_prefix(b"data:") else {
            let is_framing = FRAMING.iter().any(|field| line.starts_with(field));
            if !is_framing || line.len() > LONGEST_FRAMING {
                self.outside(line, tally);
            }
            return;
        };
        self.has_events = true;
        if !self.before_events.is_empty() {
            tally.unread(std::mem::take(&mut self.before_events).len());
        }
        let data = data.strip_prefix(b" ").unwrap_or(data);
        if self.is_skipping {
            tally.unread(data.len());
        } else if self.data.len() + data.len() > LONGEST_EVENT {
            tally.unread(self.data.len() + data.len());
            self.data.clear();
            self.is_skipping = true;
        } else {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data);
        }
    }

    /// A line that belongs to no event.
    fn outside(&mut self, line: &[u8], tally: &mut Tally) {
        if self.has_events || self.before_events.len() + line.len() >= LONGEST_EVENT {
            tally.unread(line.len());
        } else {
            self.before_events.extend_from_slice(line);
            self.before_events.push(b'\n');
        }
    }

    /// The event is whole.
    fn event(&mut self, tally: &mut Tally) {
        let skipped = std::mem::take(&mut self.is_skipping);
        if !skipped && !self.data.is_empty() {
            match std::str::from_utf8(&self.data) {
                Ok(text) => tally.event(text),
                Err(_) => tally.unread(self.data.len()),
            }
        }
        self.data.clear();
    }

    fn finish(&mut self, tally: &mut Tally) {
        let line = std::mem::take(&mut self.line);
        self.line(&line, tally);
        self.event(tally);
        let before_events = std::mem::take(&mut self.before_events);
        match std::str::from_utf8(&before_events) {
            Ok("") => {}
            Ok(text) => tally.whole(text),
            Err(_) => tally.unread(before_events.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use stave_canon::Value;
    use stave_llm::codec::StreamDecoder;
    use stave_llm::{ErrorKind, StreamEvent, Usage};

    use super::super::cost_bound::CostBound;
    use super::*;

    fn read(surface: Surface, text: &str, step: usize) -> Tap {
        let mut tap = Tap::stream(surface);
        for chunk in text.as_bytes().chunks(step) {
            tap.feed(&Bytes::copy_from_slice(chunk));
        }
        tap.finish();
        tap
    }

    fn bound(likely_input: u64, output: u64) -> CostBound {
        CostBound { likely_input, output: Some(output), ..CostBound::default() }
    }

    fn usage(tap: &Tap) -> Usage {
        tap.tally().charged(&bound(1, 1), "m").usage
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
            let usage = usage(&tap);
            assert_eq!((usage.input, usage.cache_read, usage.output), (105, 100, 7), "{step}");
            assert!(tap.is_over() && !tap.has_failed());
        }
        let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]";
        let tap = read(Surface::OpenAiChat, chat, 5);
        assert_eq!((usage(&tap).input, usage(&tap).output), (3, 2));
        assert!(tap.is_over());
        let responses = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":4,\"output_tokens\":6}}}\n\n";
        let tap = read(Surface::OpenAiResponses, responses, 9);
        assert_eq!((usage(&tap).input, usage(&tap).output), (4, 6));
        assert!(tap.is_over());
    }

    #[test]
    fn a_stream_that_breaks_off_or_tells_an_error_is_known_for_it() {
        assert!(!read(Surface::AnthropicMessages, &MESSAGES[..200], 50).is_over());
        let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
        assert!(read(Surface::AnthropicMessages, error, 10).has_failed());
        let long = format!("data: {}\n\n{MESSAGES}", "x".repeat(LONGEST_EVENT + 10));
        let tap = read(Surface::AnthropicMessages, &long, 100_000);
        assert!(usage(&tap).input == 105 && tap.is_over());
    }

    #[test]
    fn a_whole_reply_is_read_at_its_top_only() {
        let mut tap = Tap::whole(Surface::AnthropicMessages);
        let reply = r#"{"content":[{"type":"tool_use","input":{"usage":{"input_tokens":1}}}],"usage":{"input_tokens":2,"output_tokens":4}}"#;
        tap.feed(&Bytes::from_static(&reply.as_bytes()[..40]));
        tap.feed(&Bytes::from_static(&reply.as_bytes()[40..]));
        tap.finish();
        assert_eq!((usage(&tap).input, usage(&tap).output), (2, 4));
        let mut odd = Tap::whole(Surface::OpenAiChat);
        odd.feed(&Bytes::from_static(b"<html>\xff</html>"));
        odd.finish();
        assert_eq!((usage(&odd).input, usage(&odd).output), (1, 4));
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
        tap.tally = Tally::new(Surface::AnthropicMessages).with_decoder(Box::new(Defect));
        for chunk in MESSAGES.as_bytes().chunks(40) {
            tap.feed(&Bytes::copy_from_slice(chunk));
        }
        tap.finish();
        assert_eq!((tap.has_failed(), tap.is_over()), (false, true));
        assert_eq!(tap.tally().charged(&bound(7, 90), "m").usage.output, 90, "the usage is unknown");
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
