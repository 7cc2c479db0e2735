//! What we answer a client is what its own decoder reads: whole replies, streams and errors.

use proptest::prelude::*;
use stave_canon::Value;
use stave_llm::codec::{
    AnswerCodec, AnswerFault, AnthropicMessages, Envelope, OpenAiChat, OpenAiResponses, Progress,
};
use stave_llm::{Accumulator, Part, PartKind, Response, StopReason, StreamEvent, Thinking, ToolUse, Usage};

use super::{json, pretty};

const CODECS: [(&str, &dyn AnswerCodec); 3] = [
    ("openai_chat", &OpenAiChat),
    ("openai_responses", &OpenAiResponses),
    ("anthropic_messages", &AnthropicMessages),
];

fn envelope() -> Envelope {
    Envelope { id: "r1".to_owned(), model: "asked".to_owned(), created: 7, include_usage: true }
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::new(PartKind::ToolUse(ToolUse {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }))
}

fn sample() -> Response {
    let thinking = Thinking { text: "hm".to_owned(), ..Thinking::default() };
    Response {
        id: Some("up_1".to_owned()),
        model: Some("served".to_owned()),
        content: vec![
            Part::new(PartKind::Thinking(thinking)),
            Part::text("Hi"),
            call("c1", "f", "{\"a\":1}"),
            call("c2", "g", "{}"),
        ],
        stop: Some(StopReason::ToolUse),
        usage: Some(Usage { input: 10, output: 20, cache_read: 4, ..Usage::default() }),
        ..Response::default()
    }
}

/// The data of the events in `text`, and that each has the form of one.
fn frames(text: &str) -> Vec<&str> {
    text.split_terminator("\n\n")
        .map(|event| {
            let (name, data) = match event.split_once('\n') {
                Some((name, data)) => (name.strip_prefix("event: "), data),
                None => (None, event),
            };
            let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("no data: {event}"));
            if let Some(name) = name {
                assert_eq!(json(data).get("type").and_then(Value::as_str), Some(name));
            }
            data
        })
        .collect()
}

fn stream(codec: &dyn AnswerCodec, events: impl IntoIterator<Item = StreamEvent>) -> String {
    let mut encoder = codec.stream_encoder(envelope());
    let mut out = String::new();
    events.into_iter().for_each(|event| encoder.encode(event, &mut out));
    encoder.finish(&mut out);
    out
}

fn fold(codec: &dyn AnswerCodec, text: &str) -> (Response, Progress) {
    let mut decoder = codec.stream_decoder();
    let mut accumulator = Accumulator::new();
    let mut events = Vec::new();
    for frame in frames(text) {
        decoder.decode(frame, &mut events).unwrap_or_else(|kind| panic!("{kind}: {frame}"));
        events.drain(..).for_each(|event| accumulator.add(event));
    }
    (accumulator.finish(), decoder.progress())
}

/// What every interface can say of a reply: its texts and thoughts joined, its calls, its end, its counts.
fn essence(response: &Response) -> (String, String, Vec<ToolUse>, Option<StopReason>, Option<Usage>) {
    let thoughts = response.content.iter().filter_map(|part| match &part.kind {
        PartKind::Thinking(thinking) => Some(thinking.text.as_str()),
        _ => None,
    });
    let calls = response.tool_calls().cloned().collect();
    (response.text(), thoughts.collect(), calls, response.stop.clone(), response.usage)
}

#[test]
fn answers_have_their_golden_form() {
    for (name, codec) in CODECS {
        let whole = codec.encode_response(&sample(), &envelope());
        insta::assert_snapshot!(format!("answer_{name}"), pretty(&whole));
        let text = stream(codec, StreamEvent::of(&sample()));
        insta::assert_snapshot!(format!("answer_stream_{name}"), text);
    }
}

#[test]
fn an_error_has_the_form_that_the_interface_gives_it() {
    let fault = AnswerFault { status: 429, message: "Slow down".to_owned(), code: Some("busy".to_owned()) };
    for (name, codec) in CODECS {
        let body = codec.encode_error(&fault);
        let read = codec.decode_error(body.to_string().as_bytes());
        assert_eq!(read.message, "Slow down", "{name}");
        let mut out = String::new();
        codec.stream_encoder(envelope()).fail(&fault, &mut out);
        let frames = frames(&out);
        let error = codec.stream_decoder().decode(frames[0], &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("Slow down"), "{name}: {error}");
    }
}

#[test]
fn a_reply_without_id_and_model_gets_those_of_the_envelope() {
    for (name, codec) in CODECS {
        let whole = codec.encode_response(&Response::default(), &envelope());
        assert_eq!(whole.get("id").and_then(Value::as_str), Some("r1"), "{name}");
        assert_eq!(whole.get("model").and_then(Value::as_str), Some("asked"), "{name}");
        let (folded, progress) = fold(codec, &stream(codec, []));
        assert_eq!((folded.id.as_deref(), progress), (Some("r1"), Progress::Over), "{name}");
    }
}

fn responses() -> impl Strategy<Value = Response> {
    let text = "[a-z \n\"\\\\é]{1,8}";
    let part = prop_oneof![
        text.prop_map(Part::text),
        text.prop_map(|text| Part::new(PartKind::Thinking(Thinking { text, ..Thinking::default() }))),
        ("[a-z]{3}", "[a-z]{3}", prop_oneof![Just("{}"), Just("{\"a\":[1,\"x\"]}")])
            .prop_map(|(id, name, arguments)| call(&id, &name, arguments)),
    ];
    let stop = prop_oneof![Just(StopReason::End), Just(StopReason::MaxTokens), Just(StopReason::Refusal)];
    let counts = (0_u64..99, 0_u64..99, 0_u64..99);
    (prop::collection::vec(part, 0..5), stop, counts).prop_map(|(content, stop, (read, more, output))| {
        let calls = content.iter().any(|part| part.as_tool_use().is_some());
        Response {
            id: Some("up".to_owned()),
            model: Some("m".to_owned()),
            content,
            stop: Some(if calls { StopReason::ToolUse } else { stop }),
            usage: Some(Usage { input: read + more, output, cache_read: read, ..Usage::default() }),
            ..Response::default()
        }
    })
}

/// The events of a reply cut into pieces and dealt out as `order` says, each part's pieces in their order.
fn shuffled(response: &Response, order: &[usize]) -> Vec<StreamEvent> {
    let mut lanes: Vec<std::collections::VecDeque<StreamEvent>> = Vec::new();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for event in StreamEvent::of(response) {
        let pieces = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        match event {
            StreamEvent::Text { index, text } => {
                lanes.push(pieces(&text).into_iter().map(|text| StreamEvent::Text { index, text }).collect());
            }
            StreamEvent::ToolCall { index, id, name, arguments } => {
                let mut lane: std::collections::VecDeque<_> = pieces(&arguments)
                    .into_iter()
                    .map(|arguments| StreamEvent::ToolCall { index, id: None, name: None, arguments })
                    .collect();
                lane.push_front(StreamEvent::ToolCall { index, id, name, arguments: String::new() });
                lanes.push(lane);
            }
            thinking @ StreamEvent::Thinking { .. } => lanes.push([thinking].into()),
            start @ StreamEvent::Start { .. } => first.push(start),
            end => last.push(end),
        }
    }
    let mut events = first;
    for turn in order.iter().copied().chain(0..) {
        lanes.retain(|lane| !lane.is_empty());
        if lanes.is_empty() {
            break;
        }
        let lane = turn % lanes.len();
        events.extend(lanes[lane].pop_front());
    }
    events.extend(last);
    events
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_whole_answer_is_read_as_what_was_answered(response in responses()) {
        for (name, codec) in CODECS {
            let body = json(&codec.encode_response(&response, &envelope()).to_string());
            let read = codec.decode_response(body).unwrap();
            prop_assert_eq!(essence(&read), essence(&response), "{}", name);
        }
    }

    #[test]
    fn a_streamed_answer_is_read_as_what_was_answered_however_its_parts_interleave(
        response in responses(),
        order in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        for (name, codec) in CODECS {
            let events = shuffled(&response, &order);
            // Texts that interleave are joined in the order in which their pieces came.
            let mut accumulator = Accumulator::new();
            events.iter().cloned().for_each(|event| accumulator.add(event));
            let sent = accumulator.finish();
            let (read, progress) = fold(codec, &stream(codec, events));
            prop_assert_eq!(progress, Progress::Over, "{}", name);
            let (mut sent, mut read) = (essence(&sent), essence(&read));
            sent.2.sort_by(|a, b| (&a.id, &a.name).cmp(&(&b.id, &b.name)));
            read.2.sort_by(|a, b| (&a.id, &a.name).cmp(&(&b.id, &b.name)));
            prop_assert_eq!(sorted(&read.0), sorted(&sent.0), "{}", name);
            prop_assert_eq!((read.1.len(), read.2, read.3, read.4), (sent.1.len(), sent.2, sent.3, sent.4), "{}", name);
        }
    }
}

/// The letters of a text in order; which of two interleaved texts comes first is the interface's affair.
fn sorted(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    letters.sort_unstable();
    letters
}
