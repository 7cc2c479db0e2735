//! Replies: whole ones in their golden neutral form, and streams that fold into the same answer.

use stave_canon::Value;
use stave_llm::codec::{AnthropicMessages, Codec, Ollama, OpenAiChat, OpenAiResponses, Progress};
use stave_llm::{Accumulator, ErrorKind, Response, StreamEvent};

use super::{json, pretty};

fn fold(codec: &dyn Codec, frames: &[&str]) -> (Response, Progress) {
    let mut decoder = codec.stream_decoder();
    let mut accumulator = Accumulator::new();
    let mut events = Vec::new();
    for frame in frames {
        decoder.decode(frame, &mut events).unwrap_or_else(|kind| panic!("{kind}: {frame}"));
        events.drain(..).for_each(|event| accumulator.add(event));
    }
    (accumulator.finish(), decoder.progress())
}

/// One answer of each provider, whole and as a stream of the same answer.
const ANSWERS: [(&str, &dyn Codec, &str, &[&str]); 4] = [
    (
        "openai_chat",
        &OpenAiChat,
        r#"{"id":"c1","object":"chat.completion","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning_content":"hm",
            "refusal":null,"annotations":[],"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"2","type":"function","function":{"name":"g","arguments":""}}]},"logprobs":null,"finish_reason":"tool_calls"},
            {"index":1,"message":{"role":"assistant","content":"other"},"finish_reason":"stop"}],
            "usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
        &[
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"h"},"finish_reason":null}]}"#,
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"m"}}]}"#,
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"H"}},{"index":1,"delta":{"content":"other"}}],"usage":null}"#,
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"i"}}]}"#,
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}},{"index":1,"id":"2","function":{"name":"g"}}]}}]}"#,
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
            r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
            "[DONE]",
        ],
    ),
    (
        "openai_responses",
        &OpenAiResponses,
        r#"{"id":"r1","object":"response","status":"completed","error":null,"model":"m","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"e"},
            {"type":"message","id":"m1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[]}]},
            {"type":"function_call","call_id":"1","name":"f","arguments":"{\"a\":1}"}],
            "usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":30}}"#,
        &[
            r#"{"type":"response.created","sequence_number":0,"response":{"id":"r1","model":"m","status":"in_progress","output":[]}}"#,
            r#"{"type":"response.in_progress","response":{}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[]}}"#,
            r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"hm"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","content":[]}}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"H"}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"i"}"#,
            r#"{"type":"response.output_text.done","output_index":1,"text":"Hi"}"#,
            r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"1","name":"f","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\":1}"}"#,
            r#"{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"a\":1}"}"#,
            r#"{"type":"response.completed","response":{"id":"r1","status":"completed","output":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":30}}}"#,
        ],
    ),
    (
        "anthropic_messages",
        &AnthropicMessages,
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"1","name":"f","input":{"a":1}}],
            "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":5,"output_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":1},"service_tier":"standard"}}"#,
        &[
            r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":1}}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"H"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"i"}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":1}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":20}}"#,
            r#"{"type":"message_stop"}"#,
        ],
    ),
    (
        "ollama",
        &Ollama,
        r#"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Hi","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"g","arguments":{}}}]},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":20,"total_duration":5}"#,
        &[
            r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
            r#"{"model":"m","message":{"role":"assistant","content":"H"},"done":false}"#,
            r#"{"model":"m","message":{"role":"assistant","content":"i"},"done":false}"#,
            r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}"#,
            r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"g","arguments":{}}}]},"done":false}"#,
            r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":20}"#,
        ],
    ),
];

#[test]
fn whole_replies_have_their_golden_neutral_form() {
    for (name, codec, whole, _) in ANSWERS {
        let response = codec.decode_response(json(whole)).unwrap();
        assert_eq!(Response::from_value(&response.to_value()).unwrap(), response);
        insta::assert_snapshot!(format!("reply_{name}"), pretty(&response.to_value()));
    }
}

#[test]
fn a_stream_folds_into_the_answer_that_comes_in_one_piece() {
    for (name, codec, whole, frames) in ANSWERS {
        let mut whole = codec.decode_response(json(whole)).unwrap();
        let (mut folded, progress) = fold(codec, frames);
        assert_eq!(progress, Progress::Over, "{name}");
        whole.extra.clear();
        folded.extra.clear();
        assert_eq!(folded, whole, "{name}");
        // And the events of a whole reply fold back into it.
        let mut accumulator = Accumulator::new();
        StreamEvent::of(&whole).into_iter().for_each(|event| accumulator.add(event));
        assert_eq!(accumulator.finish(), whole, "{name}");
    }
}

#[test]
fn a_stream_without_its_end_is_not_over() {
    for (name, codec, _, frames) in ANSWERS {
        for count in 0..frames.len() {
            let (_, progress) = fold(codec, &frames[..count]);
            assert_ne!(progress, Progress::Over, "{name} after {count} frames");
        }
    }
}

#[test]
fn pieces_of_calls_without_numbers_still_find_their_call() {
    let call = |id: &str, arguments: &str| {
        let id = if id.is_empty() { String::new() } else { format!("\"id\":\"{id}\",") };
        format!(
            "{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{{id}\"function\":{{\"name\":\"f\",\"arguments\":\"{arguments}\"}}}}]}}}}]}}"
        )
    };
    let frames = [call("a", "1"), call("", "2"), call("b", "3")];
    let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
    let (response, _) = fold(&OpenAiChat, &frames);
    let calls: Vec<_> = response.tool_calls().map(|call| (&*call.id, &*call.arguments)).collect();
    assert_eq!(calls, [("a", "12"), ("b", "3")]);
}

#[test]
fn an_error_in_a_stream_is_the_providers_error() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let failed = r#"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"}}}"#;
    for (codec, frame, status) in [
        (&AnthropicMessages as &dyn Codec, overloaded, 529),
        (&OpenAiResponses, failed, 429),
        (&OpenAiResponses, r#"{"type":"error","code":"server_error","message":"Oops"}"#, 500),
        (&OpenAiChat, r#"{"error":{"message":"Bad","code":"400"}}"#, 400),
        (&Ollama, r#"{"error":"model not found"}"#, 500),
    ] {
        let error = codec.stream_decoder().decode(frame, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, ErrorKind::Status { status: got, .. } if got == status), "{error:?}");
    }
}

#[test]
fn error_bodies_of_any_shape_give_a_message() {
    for (body, message, code) in [
        (r#"{"error":{"message":"m","type":"t","code":null}}"#, "m", Some("t")),
        (r#"{"error":{"message":"m","code":429}}"#, "m", Some("429")),
        (r#"{"error":"m"}"#, "m", None),
        (r#"{"detail":"m"}"#, "m", None),
        (r#"{"message":"m"}"#, "m", None),
        ("<html>m</html>", "<html>m</html>", None),
        ("", "", None),
    ] {
        let error = OpenAiChat.decode_error(body.as_bytes());
        assert_eq!((error.message.as_str(), error.code.as_deref()), (message, code), "{body}");
    }
    let long = format!("{{\"error\":\"{}\"}}", "ü".repeat(5000));
    assert_eq!(OpenAiChat.decode_error(long.as_bytes()).message.chars().count(), 1001);
    let odd = Value::from(vec![1]);
    assert_eq!(OpenAiChat.decode_error(odd.to_string().as_bytes()).message, "[1]");
}
