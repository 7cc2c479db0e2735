//! The usage of one reply, read from its own structure: what the provider counts, what it wrote, and whether it
//! is complete.
//!
//! Invariant: counts are taken from the place that an interface has for them and from nowhere else, so nothing that a
//! model writes, and no tool that a client defines, is taken for a count.

use stave_block::Surface;
use stave_llm::codec::StreamDecoder;
use stave_llm::{ErrorKind, Usage};
use stave_lower::{BodyValue, RequestBody};

use super::cost_bound::CostBound;
use super::interface::codec;
use super::measure::{Measure, REPEATED};

/// Bytes of text that a token has at most on average. A provider that counts fewer tokens than that is not believed.
const MOST_BYTES_PER_TOKEN: u64 = 8;
/// Bytes of text that a token has usually.
const BYTES_PER_TOKEN: u64 = 4;

/// What states of a response say that nothing more is written.
const ENDED: [&str; 4] = ["completed", "incomplete", "failed", "cancelled"];

/// The longest event with an error that is not taken for something the model wrote.
const LONGEST_ERROR: usize = 4096;

/// What was counted of one reply.
#[derive(Debug)]
pub(crate) struct Tally {
    surface: Surface,
    decoder: Box<dyn StreamDecoder>,
    /// What the provider counts so far.
    said: Option<Usage>,
    /// Whether it counts the whole reply.
    is_final: bool,
    /// Bytes and pieces of what the model wrote.
    written: u64,
    pieces: u64,
    /// What events say of the item that is not done yet, each in the way of its kind: they repeat each other.
    telling: [u64; Telling::COUNT],
    /// Bytes of what the model wrote, by the response as a whole.
    repeated: u64,
    /// Bytes that came beside it.
    aside: u64,
    /// Calls of the provider's own tools: those it counts, and those that passed.
    tool_calls: u64,
    tool_items: u64,
    is_over: bool,
    has_failed: bool,
    /// Whether something passed that could not be read, so that the usage is unknown.
    is_opaque: bool,
    /// Whether the provider continues to work after the reply.
    goes_on: bool,
}

/// A way in which the events of a responses stream report what is in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Telling {
    Added,
    Delta,
    Text,
    Part,
    Item,
}

impl Telling {
    const COUNT: usize = 5;

    fn of(kind: &str) -> Option<Telling> {
        Some(match kind {
            "response.output_item.done" => Telling::Item,
            kind if kind.ends_with("_part.done") => Telling::Part,
            kind if kind.ends_with(".done") => Telling::Text,
            kind if kind.ends_with(".delta") => Telling::Delta,
            kind if kind.ends_with(".added") => Telling::Added,
            _ => return None,
        })
    }
}

/// What a reply is charged for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Charged {
    pub(crate) usage: Usage,
    pub(crate) tool_calls: u64,
    /// Whether the provider counted the tokens itself.
    pub(crate) is_said: bool,
}

impl Tally {
    pub(crate) fn new(surface: Surface) -> Tally {
        Tally {
            surface,
            decoder: codec(surface).stream_decoder(),
            said: None,
            is_final: false,
            written: 0,
            pieces: 0,
            telling: [0; Telling::COUNT],
            repeated: 0,
            aside: 0,
            tool_calls: 0,
            tool_items: 0,
            is_over: false,
            has_failed: false,
            is_opaque: false,
            goes_on: false,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_decoder(mut self, decoder: Box<dyn StreamDecoder>) -> Tally {
        self.decoder = decoder;
        self
    }

    /// Reads the data of one event of a stream.
    pub(crate) fn event(&mut self, data: &str) {
        if data.trim() == "[DONE]" {
            self.is_over = true;
            return;
        }
        let Ok(body) = RequestBody::read_reply(data) else { return self.unread(data.len()) };
        let event = body.root();
        match self.surface {
            Surface::AnthropicMessages => self.messages_event(event),
            Surface::OpenAiResponses => self.responses_event(event),
            Surface::OpenAiChat | Surface::GeminiGenerateContent => self.chat_event(event),
        }
    }

    /// Reads a reply that came in one piece.
    pub(crate) fn whole(&mut self, text: &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Ok(body) = RequestBody::read_reply(text) else { return self.unread(text.len()) };
        let reply = body.root();
        let output = match self.surface {
            Surface::AnthropicMessages => reply.get("content"),
            Surface::OpenAiResponses => {
                let status = reply.get("status").and_then(BodyValue::text);
                self.goes_on = status.is_some_and(|status| !ENDED.contains(&&*status));
                self.response(reply);
                reply.get("output")
            }
            Surface::OpenAiChat | Surface::GeminiGenerateContent => reply.get("choices"),
        };
        if self.surface != Surface::OpenAiResponses {
            self.take_in(reply);
        }
        self.is_final = !self.goes_on && (output.is_some() || reply.get("error").is_some());
        // A reply may say it twice, and the larger count is charged.
        for (_, usage) in reply.members().filter(|(name, _)| &**name == "usage") {
            self.counts(Some(usage));
        }
    }

    /// Bytes passed that are no reply of the interface. They were written all the same.
    pub(crate) fn unread(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes as u64);
    }

    /// Bytes passed that nobody can read, such as compressed ones.
    pub(crate) fn opaque(&mut self) {
        self.is_opaque = true;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// What the reply to a request is charged for: the larger of what the provider counts and of what it wrote. What
    /// nobody can know yet is charged as the most that the request allows.
    pub(crate) fn charged(&self, bound: &CostBound, model: &str) -> Charged {
        let most_output = bound.most_output(model);
        let goes_on = self.goes_on || (bound.goes_on && !self.is_final);
        let said = self.said.unwrap_or_default();
        let told = self.telling.iter().copied().max().unwrap_or_default();
        let written = self.written.saturating_add(told).max(self.repeated);
        let least = written / MOST_BYTES_PER_TOKEN;
        let likely = written.div_ceil(BYTES_PER_TOKEN).max(self.pieces);
        // What came beside the text makes no reply dearer than the request allows.
        let beside = written.saturating_add(self.aside).div_ceil(BYTES_PER_TOKEN).min(most_output);
        let mut output = match (self.is_final, said.output) {
            (true, counted @ 1..) => counted.max(least),
            (_, counted) => counted.max(likely).max(beside),
        };
        let mut input = if said.input > 0 { said.input } else { bound.likely_input };
        let mut tool_calls = self.tool_calls.max(self.tool_items);
        if self.is_opaque || goes_on {
            output = output.max(most_output);
            tool_calls = tool_calls.max(bound.tools.calls);
        }
        if goes_on {
            input = input.max(bound.input);
        }
        Charged {
            usage: Usage { input, output, ..said },
            tool_calls,
            is_said: self.said.is_some() && self.is_final && said.input > 0,
        }
    }

    fn messages_event(&mut self, event: BodyValue<'_, '_>) {
        let kind = event.get("type").and_then(BodyValue::text);
        let before = self.written;
        self.take_in(event);
        match kind.as_deref() {
            Some("message_start") => self.counts(event.at(&["message", "usage"])),
            Some("content_block_delta") => self.pieces += u64::from(self.written > before),
            Some("message_delta") => {
                let usage = event.get("usage").filter(|usage| usage.is_object());
                self.is_final |= usage.is_some();
                self.counts(usage);
            }
            Some("message_stop") => self.is_over = true,
            Some("error") => self.fail(event),
            _ => {}
        }
    }

    fn responses_event(&mut self, event: BodyValue<'_, '_>) {
        let kind = event.get("type").and_then(BodyValue::text).unwrap_or_default();
        if &*kind == "error" {
            self.fail(event);
            if event.raw().len() <= LONGEST_ERROR {
                return;
            }
        }
        if let Some(response) = event.get("response") {
            self.response(response);
        }
        if kind.strip_prefix("response.").is_some_and(|state| ENDED.contains(&state)) {
            self.is_over = true;
            self.is_final = true;
            self.has_failed |= &*kind == "response.failed";
            self.counts(event.at(&["response", "usage"]));
        }
        let mut measure = Measure::of(self.surface, event, &["response"]);
        if kind.contains("audio.delta") {
            measure.aside = measure.aside.saturating_add(std::mem::take(&mut measure.written));
        }
        self.aside = self.aside.saturating_add(measure.aside);
        let Some(telling) = Telling::of(&kind) else {
            self.written = self.written.saturating_add(measure.written);
            return;
        };
        self.pieces += u64::from(telling == Telling::Delta && measure.written > 0);
        if let Some(told) = self.telling.get_mut(telling as usize) {
            *told = told.saturating_add(measure.written);
        }
        if telling == Telling::Item {
            self.tool_items = self.tool_items.saturating_add(measure.tool_calls);
            let told = std::mem::take(&mut self.telling).into_iter().max().unwrap_or_default();
            self.written = self.written.saturating_add(told);
        }
    }

    /// Takes in a response as a whole, which repeats what its events told.
    fn response(&mut self, response: BodyValue<'_, '_>) {
        let measure = Measure::of(self.surface, response, &REPEATED);
        self.repeated = self.repeated.max(measure.written);
        self.aside = self.aside.max(measure.aside);
        self.tool_items = self.tool_items.max(measure.tool_calls);
    }

    fn chat_event(&mut self, event: BodyValue<'_, '_>) {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            self.fail(event);
        }
        let before = self.written;
        self.take_in(event);
        let mut choices = 0;
        for choice in event.get("choices").into_iter().flat_map(BodyValue::items) {
            choices += 1;
            self.is_final |= choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
        }
        // Each answer in it has at least one token.
        self.pieces += if self.written > before { choices } else { 0 };
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            self.is_final |= choices == 0;
            self.counts(Some(usage));
        }
    }

    fn fail(&mut self, event: BodyValue<'_, '_>) {
        let mut events = Vec::new();
        let decoded = self.decoder.decode(event.raw(), &mut events);
        self.has_failed |= matches!(decoded, Err(ErrorKind::Status { .. }));
    }

    /// Takes the counts of the object that an interface has for them. Counts are of everything so far.
    fn counts(&mut self, usage: Option<BodyValue<'_, '_>>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let used = usage.get("server_tool_use").into_iter().flat_map(BodyValue::members);
        let calls =
            used.filter_map(|(_, count)| count.raw().parse::<u64>().ok()).fold(0, u64::saturating_add);
        self.tool_calls = self.tool_calls.max(calls);
        let parsed = stave_canon::parse(usage.raw()).ok();
        let Some(counted) = parsed.and_then(|usage| self.decoder.counts(usage)) else { return };
        let before = self.said.unwrap_or_default();
        let (input, output) = (counted.input.max(before.input), counted.output.max(before.output));
        self.said = Some(Usage { input, output, ..counted });
    }

    /// Takes in everything in a value beside the counts at its top.
    fn take_in(&mut self, value: BodyValue<'_, '_>) {
        let measure = Measure::of(self.surface, value, &["usage"]);
        self.written = self.written.saturating_add(measure.written);
        self.aside = self.aside.saturating_add(measure.aside);
        self.tool_items = self.tool_items.saturating_add(measure.tool_calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(surface: Surface, events: &[&str]) -> Tally {
        let mut tally = Tally::new(surface);
        events.iter().for_each(|event| tally.event(event));
        tally
    }

    fn bound(likely_input: u64, output: u64) -> CostBound {
        CostBound { likely_input, output: Some(output), ..CostBound::default() }
    }

    fn usage(tally: &Tally) -> (u64, u64) {
        let usage = tally.charged(&bound(11, 500), "m").usage;
        (usage.input, usage.output)
    }

    const START: &str = r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1}}}"#;

    #[test]
    fn a_stream_that_is_closed_before_its_counts_is_charged_for_what_passed() {
        let text = format!(
            r#"{{"type":"content_block_delta","delta":{{"type":"text_delta","text":"{}"}}}}"#,
            "word ".repeat(800)
        );
        let closed = stream(Surface::AnthropicMessages, &[START, &text]);
        assert_eq!(usage(&closed), (105, 1000));
        let told = stream(
            Surface::AnthropicMessages,
            &[START, &text, r#"{"type":"message_delta","usage":{"output_tokens":900}}"#],
        );
        assert_eq!(usage(&told), (105, 900));
        let lied = stream(
            Surface::AnthropicMessages,
            &[START, &text, r#"{"type":"message_delta","usage":{"output_tokens":1}}"#],
        );
        assert_eq!(usage(&lied), (105, 500));
    }

    #[test]
    fn counts_are_read_at_their_place_only() {
        let tool = r#"{"type":"response.created","response":{"tools":[{"parameters":{"properties":{"usage":{"input_tokens":0,"output_tokens":0}}}}],"usage":null}}"#;
        let delta = r#"{"type":"response.output_text.delta","delta":"some words here","usage":{"input_tokens":1,"output_tokens":1}}"#;
        let done = r#"{"type":"response.completed","response":{"tools":[{"parameters":{"usage":{"type":"object"}}}],"usage":{"input_tokens":40,"output_tokens":60}}}"#;
        assert_eq!(usage(&stream(Surface::OpenAiResponses, &[tool, delta, done])), (40, 60));
        assert_eq!(usage(&stream(Surface::OpenAiResponses, &[tool, delta])), (11, 4));
        let nested = r#"{"choices":[{"delta":{"content":"ab","usage":{"prompt_tokens":1,"completion_tokens":1}}}],"x":{"usage":{"prompt_tokens":1}}}"#;
        assert_eq!(usage(&stream(Surface::OpenAiChat, &[nested])).0, 11);
        let other = r#"{"type":"ping","usage":{"input_tokens":1,"output_tokens":1}}"#;
        assert_eq!(usage(&stream(Surface::AnthropicMessages, &[other])), (11, 0));
        let mut whole = Tally::new(Surface::AnthropicMessages);
        whole.whole(r#"{"content":[{"type":"tool_use","input":{"usage":{"input_tokens":1}}}],"usage":{"input_tokens":2,"output_tokens":9}}"#);
        assert_eq!(usage(&whole), (2, 9));
    }

    #[test]
    fn counts_that_can_not_be_are_not_believed() {
        for (said, expected) in [
            (r#"{"prompt_tokens":-7,"completion_tokens":-9}"#, (11, 100)),
            (r#"{"prompt_tokens":"7","completion_tokens":"300"}"#, (7, 300)),
            (r#"{"prompt_tokens":7.0,"completion_tokens":299.5}"#, (7, 300)),
            (r#"{"prompt_tokens":1e30,"completion_tokens":9999999999999999999999}"#, (11, 100)),
            (r#"{"prompt_tokens":null,"completion_tokens":[1]}"#, (11, 100)),
            (r#"{}"#, (11, 100)),
            (
                r#"{"prompt_tokens":9,"completion_tokens":2000},"usage":{"prompt_tokens":9,"completion_tokens":1}"#,
                (9, 2000),
            ),
            (r#"{"prompt_tokens":7,"completion_tokens":0}"#, (7, 100)),
            (
                r#"{"prompt_tokens":7,"completion_tokens":120,"completion_tokens_details":{"reasoning_tokens":400}}"#,
                (7, 400),
            ),
            (
                r#"{"prompt_tokens":7,"completion_tokens":100,"total_tokens":207,"completion_tokens_details":{"reasoning_tokens":100}}"#,
                (7, 200),
            ),
        ] {
            let mut tally = Tally::new(Surface::OpenAiChat);
            let text = "word".repeat(100);
            tally.whole(&format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}],"usage":{said}}}"#));
            assert_eq!(usage(&tally), expected, "{said}");
        }
        let cached = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":999}}}"#;
        assert_eq!(stream(Surface::OpenAiChat, &[cached]).charged(&bound(1, 1), "m").usage.cache_read, 10);
    }

    #[test]
    fn every_answer_of_a_reply_counts() {
        let chunk =
            |index: usize| format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"abcdefgh"}}}}]}}"#);
        let (first, second) = (chunk(0), chunk(7));
        assert_eq!(usage(&stream(Surface::OpenAiChat, &[&first, &second])), (11, 4));
    }

    #[test]
    fn what_can_not_be_read_is_charged() {
        let mut cut = Tally::new(Surface::OpenAiChat);
        cut.whole(&format!(r#"{{"choices":[{{"message":{{"content":"{}"#, "a".repeat(4000)));
        assert!(usage(&cut).1 > 1000);
        let mut packed = Tally::new(Surface::OpenAiChat);
        packed.opaque();
        assert_eq!(usage(&packed), (11, 500));
        let items = [r#"{"type":"response.output_item.done","item":{"type":"web_search_call"}}"#; 3];
        assert_eq!(stream(Surface::OpenAiResponses, &items).charged(&bound(1, 1), "m").tool_calls, 3);
        let mut searched = Tally::new(Surface::AnthropicMessages);
        searched.whole(r#"{"content":[],"usage":{"input_tokens":1,"output_tokens":1,"server_tool_use":{"web_search_requests":4}}}"#);
        assert_eq!(searched.charged(&bound(1, 1), "m").tool_calls, 4);
    }
}
