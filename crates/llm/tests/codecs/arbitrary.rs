//! Input that nobody sent on purpose: whatever arrives, a decoder answers and never panics.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use proptest::prelude::*;
use stave_canon::Value;
use stave_llm::codec::stream::{LONGEST_FRAME, frames};
use stave_llm::codec::{Codec, Framing};
use stave_llm::{Accumulator, ErrorKind};

use super::CODECS;

/// Words that decoders look for, so that random objects get past the first field.
fn key() -> impl Strategy<Value = String> {
    let words = [
        "type",
        "role",
        "content",
        "messages",
        "input",
        "output",
        "text",
        "image_url",
        "url",
        "file",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "index",
        "choices",
        "message",
        "delta",
        "usage",
        "finish_reason",
        "item",
        "response",
        "status",
        "error",
        "code",
        "summary",
        "source",
        "data",
        "system",
        "tools",
        "tool_choice",
        "response_format",
        "json_schema",
        "schema",
        "format",
        "options",
        "stop",
        "done",
        "content_block",
        "thinking",
        "cache_control",
        "ttl",
        "output_config",
        "stream",
        "stream_options",
        "output_index",
        "call_id",
    ];
    prop_oneof![prop::sample::select(words.to_vec()).prop_map(str::to_owned), "[a-z]{0,3}"]
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "user",
        "assistant",
        "tool",
        "system",
        "text",
        "image",
        "image_url",
        "file",
        "document",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "function",
        "function_call",
        "function_call_output",
        "reasoning",
        "message",
        "message_start",
        "message_delta",
        "content_block_start",
        "content_block_delta",
        "text_delta",
        "input_json_delta",
        "signature_delta",
        "error",
        "response.created",
        "response.output_text.delta",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "response.failed",
        "ephemeral",
        "json_schema",
        "auto",
        "base64",
        "completed",
        "incomplete",
        "stop",
        "data:image/png;base64,",
        "[DONE]",
    ];
    prop_oneof![prop::sample::select(words.to_vec()).prop_map(str::to_owned), "\\PC{0,4}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| Value::from(if float.is_finite() { float } else { 0.5 })),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key(), inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// An object with a list under every name that a decoder starts with.
fn body() -> impl Strategy<Value = Value> {
    (value(), prop::collection::vec(value(), 0..4), value()).prop_map(|(base, items, single)| {
        let mut body = base.as_object().cloned().unwrap_or_default();
        for name in ["messages", "input", "choices", "output", "content"] {
            body.entry(name.to_owned()).or_insert_with(|| Value::Array(items.clone()));
        }
        for name in ["message", "response", "delta"] {
            body.entry(name.to_owned()).or_insert_with(|| single.clone());
        }
        Value::Object(body)
    })
}

fn read_everything(codec: &dyn Codec, value: &Value) {
    if let Ok(request) = codec.decode_request(value.clone()) {
        // What was read can be written, read again, counted and told apart.
        let again = codec.encode_request(&request).body;
        assert!(codec.decode_request(again).is_ok());
        let _ = stave_llm::recording::request_hash(&request);
    }
    if let Ok(response) = codec.decode_response(value.clone()) {
        let _ = (response.text(), response.to_value().to_string());
    }
    let _ = codec.decode_error(value.to_string().as_bytes());
}

fn cut(bytes: &[u8], size: usize) -> Vec<Result<Bytes, ErrorKind>> {
    bytes.chunks(size.max(1)).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect()
}

fn collect(bytes: &[u8], size: usize, framing: Framing) -> Vec<Result<String, ErrorKind>> {
    let frames = frames(stream::iter(cut(bytes, size)), framing);
    futures_util::FutureExt::now_or_never(frames.collect::<Vec<_>>()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_value_panics_a_decoder(value in prop_oneof![value(), body()]) {
        for (_, codec) in CODECS {
            read_everything(codec, &value);
            let mut decoder = codec.stream_decoder();
            let mut events = Vec::new();
            for _ in 0..2 {
                let _ = decoder.decode(&value.to_string(), &mut events);
            }
            let mut accumulator = Accumulator::new();
            events.into_iter().for_each(|event| accumulator.add(event));
            let _ = accumulator.finish().to_value();
        }
        let _ = stave_llm::Request::from_value(&value);
        let _ = stave_llm::Response::from_value(&value);
    }

    #[test]
    fn no_bytes_panic_the_readers(bytes in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..9) {
        for framing in [Framing::ServerSentEvents, Framing::Lines] {
            let _ = collect(&bytes, size, framing);
        }
        for (_, codec) in CODECS {
            let _ = codec.decode_error(&bytes);
            let text = String::from_utf8_lossy(&bytes);
            let _ = codec.stream_decoder().decode(&text, &mut Vec::new());
        }
        let _ = stave_llm::recording::Recording::parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn frames_do_not_depend_on_how_the_bytes_were_cut(
        texts in prop::collection::vec("[a-zäß日 ]{1,8}", 0..5),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        mark in any::<bool>(),
        closed in any::<bool>(),
        size in 1_usize..20,
    ) {
        let texts: Vec<String> = texts.iter().map(|text| format!("x{text}x")).collect();
        let mark = if mark { "\u{feff}" } else { "" };
        let mut events = mark.to_owned();
        for text in &texts {
            events.push_str(&format!("event: e{end}: comment{end}data: {text}{end}{end}"));
        }
        if !closed {
            events.truncate(events.trim_end().len());
        }
        let got: Vec<_> = collect(events.as_bytes(), size, Framing::ServerSentEvents);
        prop_assert_eq!(got, texts.iter().cloned().map(Ok).collect::<Vec<_>>());
        if end != "\r" {
            let lines = format!("{mark}{}{}", texts.join(end), if closed { end } else { "" });
            let got: Vec<_> = collect(lines.as_bytes(), size, Framing::Lines);
            prop_assert_eq!(got, texts.iter().cloned().map(Ok).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_frame_past_the_bound_is_an_error() {
    let text = format!("data: {}\n\n", "x".repeat(LONGEST_FRAME + 1));
    let limit = Err(ErrorKind::TooLarge { limit: LONGEST_FRAME });
    for framing in [Framing::ServerSentEvents, Framing::Lines] {
        // A comparison that does not print eight megabytes when it fails.
        assert!(collect(text.as_bytes(), 64 << 10, framing) == [limit.clone()], "{framing:?}");
    }
    // Many events within the bound are no large event.
    let text = format!("data: {}\n\n", "x".repeat(LONGEST_FRAME / 3)).repeat(5);
    assert_eq!(collect(text.as_bytes(), 64 << 10, Framing::ServerSentEvents).len(), 5);
}

#[test]
fn an_event_that_is_not_utf_8_is_a_decode_error() {
    for framing in [Framing::ServerSentEvents, Framing::Lines] {
        let frames = collect(b"data: \xff\n\n", 3, framing);
        assert!(matches!(frames.as_slice(), [Err(ErrorKind::Decode(_))]), "{frames:?}");
    }
}
