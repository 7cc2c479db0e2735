//! Golden bodies of one request that uses everything, and unknown fields on every level.

use stave_canon::Object;
use stave_llm::codec::{AnthropicMessages, Codec, Ollama, OpenAiChat, OpenAiResponses};
use stave_llm::{
    CacheMark, CacheTtl, FunctionTool, Media, MediaSource, Message, Part, PartKind, Request, ResponseSchema,
    Role, Thinking, Tool, ToolChoice, ToolResult, ToolUse,
};

use super::{CODECS, json, pretty};

fn object(text: &str) -> Object {
    json(text).as_object().cloned().unwrap_or_default()
}

/// A request in which every field of the neutral model is set.
fn everything() -> Request {
    let media = |source, name: Option<&str>| Media { source, name: name.map(str::to_owned) };
    let inline =
        |media_type: &str| MediaSource::Base64 { media_type: media_type.to_owned(), data: "aGk=".to_owned() };
    let question = vec![
        Part::text("Look at these.").with_cache(CacheMark { ttl: Some(CacheTtl::OneHour) }),
        Part::new(PartKind::Image(media(inline("image/png"), None))),
        Part::new(PartKind::Image(media(MediaSource::Url("https://example.com/cat.png".to_owned()), None))),
        Part::new(PartKind::Document(media(inline("application/pdf"), Some("terms.pdf")))),
        Part::new(PartKind::Document(media(MediaSource::Text("Plain terms.".to_owned()), Some("terms")))),
        Part::new(PartKind::Document(media(MediaSource::File("file_1".to_owned()), None))),
    ];
    let thinking =
        Thinking { text: "Let me see.".to_owned(), signature: Some("c2ln".to_owned()), redacted: None };
    let call = |id: &str, arguments: &str| {
        let call = ToolUse { id: id.to_owned(), name: "look_up".to_owned(), arguments: arguments.to_owned() };
        Part::new(PartKind::ToolUse(call))
    };
    let answer = vec![
        Part::new(PartKind::Thinking(thinking)),
        Part::text("One moment."),
        call("call_1", r#"{"order":42}"#),
        call("call_2", "not json"),
    ];
    let result = |id: &str, text: &str, is_error| {
        let result = ToolResult { id: id.to_owned(), content: vec![Part::text(text)], is_error };
        Part::new(PartKind::ToolResult(result))
    };
    let schema = r#"{"type":"object","properties":{"answer":{"type":"string","minLength":1},"sure":{"type":"boolean"}},"required":["answer"]}"#;
    Request {
        model: "gpt-4o-mini".to_owned(),
        messages: vec![
            Message::system("You are a clerk."),
            Message { name: Some("policy".to_owned()), ..Message::developer("Be brief.") },
            Message::new(Role::User, question),
            Message::new(Role::Assistant, answer),
            Message::new(
                Role::Tool,
                vec![result("call_1", "Shipped.", false), result("call_2", "Bad input.", true)],
            ),
            Message { extra: object(r#"{"x_message":1}"#), ..Message::user("And now?") },
        ],
        tools: vec![
            Tool::Function(FunctionTool {
                name: "look_up".to_owned(),
                description: Some("Finds an order.".to_owned()),
                parameters: json(r#"{"type":"object","properties":{"order":{"type":"integer"}}}"#),
                strict: Some(false),
                cache: Some(CacheMark::default()),
                extra: Object::new(),
            }),
            Tool::Provider(json(r#"{"type":"web_search","name":"web_search","max_uses":2}"#)),
        ],
        tool_choice: Some(ToolChoice::Tool("look_up".to_owned())),
        parallel_tool_calls: Some(false),
        response_schema: Some(ResponseSchema {
            name: "the reply".to_owned(),
            schema: json(schema),
            strict: true,
        }),
        temperature: Some(0.5),
        max_tokens: Some(300),
        top_p: Some(1.0),
        stop: vec!["END".to_owned(), "STOP".to_owned()],
        seed: Some(7),
        stream: true,
        metadata: object(r#"{"user_id":"u1"}"#),
        extra: object(r#"{"x_body":{"deep":[1,2.5,null]}}"#),
    }
}

#[test]
fn a_request_that_uses_everything_has_its_golden_body_and_notes() {
    for (name, codec) in CODECS {
        let encoded = codec.encode_request(&everything());
        let notes: Vec<String> = encoded.notes.iter().map(ToString::to_string).collect();
        let text = format!("{}\n\nnotes:\n{}\n", pretty(&encoded.body), notes.join("\n"));
        insta::assert_snapshot!(format!("request_{name}"), text);
    }
}

#[test]
fn the_neutral_form_reads_back() {
    let request = everything();
    assert_eq!(Request::from_value(&request.to_value()).unwrap(), request);
    let text = request.to_value().to_string();
    assert_eq!(Request::from_value(&json(&text)).unwrap(), request);
    insta::assert_snapshot!("request_neutral", pretty(&request.to_value()));
}

#[test]
fn a_misspelt_neutral_field_is_named() {
    for (text, says) in [
        (r#"{"mesages":[]}"#, "`mesages` of a request is unknown"),
        (r#"{"messages":[{"role":"usr","content":"x"}]}"#, "not `usr`"),
        (r#"{"messages":[{"role":"user","content":[{"type":"txt"}]}]}"#, "unknown type of part `txt`"),
        (r#"{"temperature":"hot"}"#, "`temperature` of a request"),
        (r#"{"messages":[{"role":"user","content":5}]}"#, "not integer"),
    ] {
        let error = Request::from_value(&json(text)).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn an_open_schema_is_sent_as_not_strict_or_left_out_and_the_note_says_so() {
    let schema = json(r#"{"type":"object","additionalProperties":{"type":"string"}}"#);
    let schema = ResponseSchema { name: "reply".to_owned(), schema, strict: true };
    let request = Request { response_schema: Some(schema.clone()), ..Request::new("m", Vec::new()) };
    let encoded = OpenAiChat.encode_request(&request);
    assert_eq!(encoded.body.pointer("/response_format/json_schema/strict"), Some(&false.into()));
    assert_eq!(encoded.body.pointer("/response_format/json_schema/schema"), Some(&schema.schema));
    assert_eq!(
        encoded.notes[0].to_string(),
        "response_schema.strict: sent as not strict: an object with free keys has no strict form (at ``)"
    );
    let encoded = AnthropicMessages.encode_request(&request);
    assert_eq!(encoded.body.get("output_config"), None);
    assert!(encoded.notes.iter().any(|note| note.field == "response_schema.strict"));
}

#[test]
fn the_token_limit_has_the_name_that_the_model_knows() {
    for (model, field) in [
        ("gpt-4o", "max_tokens"),
        ("llama3", "max_tokens"),
        ("gpt-5-mini", "max_completion_tokens"),
        ("o3", "max_completion_tokens"),
    ] {
        let request = Request { max_tokens: Some(5), ..Request::new(model, Vec::new()) };
        assert_eq!(OpenAiChat.encode_request(&request).body.get(field), Some(&5_i64.into()), "{model}");
    }
}

/// Bodies with unknown fields on every level, known fields of unexpected types, and parts nobody knows.
const STRANGE: [(&dyn Codec, &str); 4] = [
    (
        &OpenAiChat,
        r#"{"model":"m","messages":[
            {"role":"user","content":[{"type":"text","text":"a","x":1},{"type":"image_url","image_url":{"url":"https://e/x.png","detail":"low"}},
              {"type":"input_audio","input_audio":{"data":"","format":"wav"}},{"type":"file","file":{"file_id":"f","x":1}}],"x":{"y":1}},
            {"role":"assistant","content":null,"refusal":null,"reasoning_content":"hm","tool_calls":[
              {"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}","x":1},"x":2},{"id":"2","type":"custom","custom":{"name":"g","input":"z"}}]},
            {"role":"tool","tool_call_id":"1","content":"r","x":3}],
          "tools":[{"type":"function","function":{"name":"f","parameters":{},"x":1},"x":2},{"type":"custom","custom":{"name":"g"}}],
          "tool_choice":{"type":"allowed_tools","allowed_tools":{}},"temperature":"hot","n":2,"user":"u","max_tokens":null,
          "stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false},
          "response_format":{"type":"json_schema","json_schema":{"name":"r","schema":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true,"description":"d"}}}"#,
    ),
    (
        &OpenAiResponses,
        r#"{"model":"m","instructions":"Be brief.","input":[
            {"type":"message","role":"user","content":[{"type":"input_text","text":"a","x":1},{"type":"input_image","image_url":"https://e/x.png","detail":"low"},{"type":"input_audio","x":1}],"x":1},
            {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"p"},{"type":"summary_text","text":"q"}],"encrypted_content":"e"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"x":1}]},{"type":"refusal","refusal":"no"}],"id":"msg_1","status":"completed"},
            {"type":"function_call","call_id":"1","name":"f","arguments":"{}","id":"fc_1"},
            {"type":"web_search_call","id":"ws_1","status":"completed"},
            {"type":"function_call_output","call_id":"1","output":"r","id":"fo_1"}],
          "tools":[{"type":"function","name":"f","parameters":{},"strict":true,"x":1},{"type":"web_search"}],
          "tool_choice":{"type":"web_search"},"store":false,"temperature":[],
          "text":{"verbosity":"low","format":{"type":"json_schema","name":"r","schema":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true,"x":1}}}"#,
    ),
    (
        &AnthropicMessages,
        r#"{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"},"x":1}],"messages":[
            {"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","scope":"global"}},{"type":"image","source":{"type":"url","url":"https://e/x.png","x":1}},
              {"type":"document","source":{"type":"content","content":[]},"title":"t"},{"type":"search_result","x":1}],"x":1},
            {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s","x":1},{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"1","name":"f","input":{"b":1,"a":2.0},"caller":{"type":"direct"}},{"type":"server_tool_use","id":"2","name":"w","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"},{"type":"tool_reference","tool_name":"g"}],"is_error":true,"x":1}]}],
          "tools":[{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral"},"x":1},{"type":"custom","name":"g","input_schema":{}},{"type":"web_search_20250305","name":"web_search"}],
          "tool_choice":{"type":"auto","disable_parallel_tool_use":true},"thinking":{"type":"enabled","budget_tokens":1024},"cache_control":{"type":"ephemeral"},
          "output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object","properties":{},"additionalProperties":false},"x":1}},"temperature":null}"#,
    ),
    (
        &Ollama,
        r#"{"model":"m","messages":[{"role":"user","content":"a","images":["aGk="],"x":1},
            {"role":"assistant","content":"b","thinking":"t","tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":1},"index":0},"x":1}]},
            {"role":"tool","content":"r","tool_name":"f","tool_call_id":"1","x":1}],
          "tools":[{"type":"function","function":{"name":"f","parameters":{},"x":1}}],"format":{"type":"object"},
          "options":{"temperature":0.5,"num_ctx":4096,"num_predict":-1},"stream":false,"think":"high","keep_alive":"5m"}"#,
    ),
];

#[test]
fn what_the_neutral_model_does_not_know_survives_there_and_back() {
    for (codec, text) in STRANGE {
        let body = json(text);
        let request = codec.decode_request(body.clone()).unwrap();
        let again = codec.encode_request(&request).body;
        assert_eq!(pretty_sorted(&again), pretty_sorted(&body), "{codec:?}");
    }
}

fn pretty_sorted(value: &stave_canon::Value) -> String {
    stave_canon::pretty_sorted_utf8(value)
}

#[test]
fn a_body_that_is_no_request_is_an_error_that_says_where() {
    for (name, codec) in CODECS {
        for text in ["null", "[]", "{}", r#"{"messages":7,"input":7}"#, r#"{"messages":[7],"input":[7]}"#] {
            assert!(codec.decode_request(json(text)).is_err(), "{name} {text}");
        }
        let body =
            json(r#"{"messages":[{"role":"king","content":"x"}],"input":[{"role":"king","content":"x"}]}"#);
        let error = codec.decode_request(body).unwrap_err().to_string();
        assert!(error.contains("[0] has the unknown role `king`"), "{error}");
    }
}
