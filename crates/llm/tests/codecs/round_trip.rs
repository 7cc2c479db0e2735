//! What a wire can carry comes back from it as it went.

use proptest::option;
use proptest::prelude::*;
use stave_canon::{Object, Value};
use stave_llm::codec::{AnthropicMessages, Codec, Ollama, OpenAiChat, OpenAiResponses};
use stave_llm::{
    CacheMark, CacheTtl, FunctionTool, Media, MediaSource, Message, Part, PartKind, Request, ResponseSchema,
    Role, Thinking, Tool, ToolChoice, ToolResult, ToolUse,
};

use super::json;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire {
    Chat,
    Responses,
    Messages,
    Ollama,
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "\\PC{1,12}", Just("line\nbreak \u{1f600}".to_owned())]
}

fn extra() -> impl Strategy<Value = Object> {
    prop_oneof![
        3 => Just(Object::new()),
        1 => word().prop_map(|text| [("x_unknown".to_owned(), Value::from(text))].into_iter().collect()),
    ]
}

fn cache(wire: Wire) -> BoxedStrategy<Option<CacheMark>> {
    if wire != Wire::Messages {
        return Just(None).boxed();
    }
    let ttl = prop_oneof![Just(None), Just(Some(CacheTtl::FiveMinutes)), Just(Some(CacheTtl::OneHour))];
    option::of(ttl.prop_map(|ttl| CacheMark { ttl })).boxed()
}

fn inline() -> impl Strategy<Value = MediaSource> {
    ("(image|application)/[a-z]{3}", "[A-Za-z0-9+/]{4,8}")
        .prop_map(|(media_type, data)| MediaSource::Base64 { media_type, data })
}

fn part(wire: Wire) -> BoxedStrategy<Part> {
    let text = word().prop_map(PartKind::Text);
    let url = || "https://e/[a-z]{1,5}".prop_map(MediaSource::Url);
    let file = || "file_[a-z]{1,5}".prop_map(MediaSource::File);
    let image_source = match wire {
        Wire::Chat => prop_oneof![inline(), url()].boxed(),
        Wire::Responses | Wire::Messages => prop_oneof![inline(), url(), file()].boxed(),
        Wire::Ollama => "[A-Za-z0-9+/]{4}"
            .prop_map(|data| MediaSource::Base64 { media_type: "image/*".to_owned(), data })
            .boxed(),
    };
    let image = image_source.prop_map(|source| PartKind::Image(Media { source, name: None }));
    let named = |source: BoxedStrategy<MediaSource>| {
        (source, option::of(word()))
            .prop_map(|(source, name)| PartKind::Document(Media { source, name }))
            .boxed()
    };
    let document = match wire {
        Wire::Chat => named(prop_oneof![inline(), file()].boxed()),
        Wire::Responses => prop_oneof![
            named(prop_oneof![inline(), file()].boxed()),
            url().prop_map(|source| PartKind::Document(Media { source, name: None })),
        ]
        .boxed(),
        Wire::Messages => {
            named(prop_oneof![inline(), url(), file(), word().prop_map(MediaSource::Text)].boxed())
        }
        Wire::Ollama => return image.prop_map(Part::new).boxed(),
    };
    (prop_oneof![text, image, document], cache(wire), extra())
        .prop_map(|(kind, cache, extra)| Part { kind, cache, extra })
        .boxed()
}

/// A user's message; Ollama's has one text and then images.
fn user(wire: Wire) -> BoxedStrategy<Message> {
    let first = word().prop_map(Part::text);
    let more = prop::collection::vec(part(wire), 0..3);
    (first, more, extra())
        .prop_map(|(first, more, extra)| {
            let mut message = Message::new(Role::User, vec![first]);
            message.content.extend(more);
            message.extra = extra;
            message
        })
        .boxed()
}

fn thinking(wire: Wire) -> BoxedStrategy<Option<Part>> {
    let thinking = |text: String, signature, redacted| {
        Part::new(PartKind::Thinking(Thinking { text, signature, redacted }))
    };
    match wire {
        Wire::Chat => Just(None).boxed(),
        Wire::Ollama => option::of(word().prop_map(move |text| thinking(text, None, None))).boxed(),
        Wire::Responses => {
            option::of((word(), word()).prop_map(move |(text, data)| thinking(text, None, Some(data))))
                .boxed()
        }
        Wire::Messages => option::of(prop_oneof![
            (word(), word()).prop_map(move |(text, signature)| thinking(text, Some(signature), None)),
            word().prop_map(move |data| thinking(String::new(), None, Some(data))),
        ])
        .boxed(),
    }
}

/// An assistant's message with calls, and the results that answer them.
fn round(wire: Wire) -> BoxedStrategy<Vec<Message>> {
    let arguments = prop_oneof![Just("{}"), Just(r#"{"a":1}"#), Just(r#"{"b":[1.5,null,"x"]}"#)];
    let call = ("call_[a-z]{6}", "[a-z]{1,6}", arguments).prop_map(|(id, name, arguments)| ToolUse {
        id,
        name,
        arguments: arguments.to_owned(),
    });
    let calls = prop::collection::vec((call, word()), 0..3);
    (user(wire), thinking(wire), word(), calls)
        .prop_map(move |(user, thinking, text, calls)| {
            let mut content: Vec<Part> = thinking.into_iter().collect();
            content.push(Part::text(text));
            content.extend(calls.iter().map(|(call, _)| Part::new(PartKind::ToolUse(call.clone()))));
            let results: Vec<Part> = calls
                .iter()
                .map(|(call, text)| {
                    let content = vec![Part::text(text)];
                    let is_error = wire == Wire::Messages && text.len() % 2 == 0;
                    Part::new(PartKind::ToolResult(ToolResult { id: call.id.clone(), content, is_error }))
                })
                .collect();
            let mut messages = vec![user, Message::new(Role::Assistant, content)];
            // Results of parallel calls are in one message for Anthropic, each in its own for the others.
            if wire == Wire::Messages {
                messages.extend((!results.is_empty()).then(|| Message::new(Role::Tool, results)));
            } else {
                messages.extend(results.into_iter().map(|result| Message::new(Role::Tool, vec![result])));
            }
            messages
        })
        .boxed()
}

fn tool(wire: Wire) -> BoxedStrategy<Tool> {
    let strict = match wire {
        Wire::Ollama => Just(None).boxed(),
        // This wire always says which of the two it is.
        Wire::Responses => any::<bool>().prop_map(Some).boxed(),
        Wire::Chat | Wire::Messages => option::of(any::<bool>()).boxed(),
    };
    ("[a-z]{1,8}", option::of(word()), strict, cache(wire), extra())
        .prop_map(|(name, description, strict, cache, extra)| {
            let parameters = json(r#"{"type":"object","properties":{"z":{},"a":{"type":"integer"}}}"#);
            Tool::Function(FunctionTool { name, description, parameters, strict, cache, extra })
        })
        .boxed()
}

fn request(wire: Wire) -> impl Strategy<Value = Request> {
    let system = option::of(word().prop_map(Message::system));
    let rounds = prop::collection::vec(round(wire), 1..3);
    let tools = prop::collection::vec(tool(wire), 0..3);
    let choice = option::of(prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        "[a-z]{1,5}".prop_map(ToolChoice::Tool),
    ]);
    let numbers =
        (option::of(0.0..2.0), option::of(0.0..1.0), option::of(1_u64..9999), option::of(any::<i64>()));
    let flags = (option::of(any::<bool>()), any::<bool>(), any::<bool>());
    (system, rounds, tools, choice, numbers, flags, extra(), prop::collection::vec("[A-Z]{1,4}", 0..3)).prop_map(
        move |(system, rounds, tools, choice, (temperature, top_p, max_tokens, seed), flags, extra, stop)| {
            let (parallel, stream, with_schema) = flags;
            let named = matches!(wire, Wire::Chat | Wire::Responses);
            let schema = r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#;
            let schema = ResponseSchema {
                name: if named { "reply".to_owned() } else { String::new() },
                schema: json(schema),
                strict: true,
            };
            let mut messages: Vec<Message> = system.into_iter().collect();
            messages.extend(rounds.into_iter().flatten());
            let mut metadata = Object::new();
            if wire != Wire::Ollama && stream {
                metadata.insert("user_id".to_owned(), "u".into());
            }
            Request {
                model: "some-model".to_owned(),
                messages,
                tools,
                parallel_tool_calls: match wire {
                    Wire::Ollama => None,
                    // This wire carries the flag inside the choice.
                    Wire::Messages if choice.is_none() => None,
                    _ => parallel,
                },
                tool_choice: choice.filter(|_| wire != Wire::Ollama),
                response_schema: with_schema.then_some(schema),
                temperature,
                max_tokens: if wire == Wire::Messages { max_tokens.or(Some(1)) } else { max_tokens },
                top_p,
                stop: if wire == Wire::Responses { Vec::new() } else { stop },
                seed: seed.filter(|_| matches!(wire, Wire::Chat | Wire::Ollama)),
                stream,
                metadata,
                extra,
            }
        },
    )
}

/// `decode(encode(x)) == x`, with nothing noted as left out.
fn comes_back(codec: &dyn Codec, request: Request) -> Result<(), TestCaseError> {
    let encoded = codec.encode_request(&request);
    prop_assert_eq!(&encoded.notes, &Vec::new());
    // Through text, as it travels.
    let body = json(&encoded.body.to_string());
    let decoded = codec.decode_request(body).map_err(|kind| TestCaseError::fail(kind.to_string()))?;
    prop_assert_eq!(&decoded, &request);
    let neutral = Request::from_value(&json(&request.to_value().to_string()));
    prop_assert_eq!(neutral, Ok(request));
    Ok(())
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn chat_completions_carry_a_request_there_and_back(request in request(Wire::Chat)) {
        comes_back(&OpenAiChat, request)?;
    }

    #[test]
    fn responses_carry_a_request_there_and_back(request in request(Wire::Responses)) {
        comes_back(&OpenAiResponses, request)?;
    }

    #[test]
    fn messages_carry_a_request_there_and_back(request in request(Wire::Messages)) {
        comes_back(&AnthropicMessages, request)?;
    }

    #[test]
    fn ollama_carries_a_request_there_and_back(request in request(Wire::Ollama)) {
        comes_back(&Ollama, request)?;
    }
}
