//! Ollama's own chat interface.
//!
//! Replies come as lines of JSON. A message has one text, so several are joined with an empty line between
//! them. Models behind this interface know no developer, so its messages are sent as the system's. Results name their tool rather than their call, so the codec remembers the
//! names of the calls before them.

use std::collections::HashMap;

use stave_canon::{Object, Value};

use super::fields::{Fields, merge, object, put};
use super::openai::{decode_nested_tool, encode_nested_tool, note_what_is_left_out};
use super::{Codec, Encoded, Framing, Note, Progress, StreamDecoder, stream};
use crate::{
    ErrorKind, Media, MediaSource, Message, Part, PartKind, Request, Response, ResponseSchema, Role,
    StopReason, StreamEvent, Thinking, ToolResult, ToolUse, Usage,
};

/// The media type of an image whose type the wire does not carry.
const SOME_IMAGE: &str = "image/*";

/// The codec of `/api/chat`.
#[derive(Debug, Clone, Copy)]
pub struct Ollama;

impl Codec for Ollama {
    fn encode_request(&self, request: &Request) -> Encoded {
        let mut notes = Vec::new();
        note_what_is_left_out(request, &mut notes);
        let mut names = HashMap::new();
        let mut messages = Vec::new();
        for message in &request.messages {
            encode_message(message, &mut names, &mut messages, &mut notes);
        }
        let mut body =
            object([("model", request.model.as_str().into()), ("messages", Value::Array(messages))]);
        if !request.tools.is_empty() {
            body.insert(
                "tools".to_owned(),
                request.tools.iter().map(encode_nested_tool).collect::<Vec<_>>().into(),
            );
        }
        if request.tool_choice.is_some() || request.parallel_tool_calls.is_some() {
            notes.push(Note::new("tool_choice", "left out: this interface leaves the choice to the model"));
        }
        put(&mut body, "format", request.response_schema.as_ref().map(|schema| schema.schema.clone()));
        let mut options = Object::new();
        put(&mut options, "temperature", request.temperature.filter(|number| number.is_finite()));
        put(&mut options, "num_predict", request.max_tokens);
        put(&mut options, "top_p", request.top_p.filter(|number| number.is_finite()));
        put(&mut options, "stop", (!request.stop.is_empty()).then(|| request.stop.clone()));
        put(&mut options, "seed", request.seed);
        put(&mut body, "options", (!options.is_empty()).then_some(options));
        // Without the field this server streams.
        body.insert("stream".to_owned(), request.stream.into());
        if !request.metadata.is_empty() {
            notes.push(Note::new("metadata", "left out: this interface has no place for it"));
        }
        merge(&mut body, &request.extra);
        Encoded::new(body, notes)
    }

    fn decode_request(&self, body: Value) -> Result<Request, ErrorKind> {
        let mut fields = Fields::required(body, "the request")?;
        let turns = fields
            .array("messages")
            .ok_or_else(|| ErrorKind::Decode("the request has no list of messages".to_owned()))?;
        let messages = turns
            .into_iter()
            .enumerate()
            .map(|(index, turn)| decode_message(index, turn))
            .collect::<Result<_, _>>()?;
        let tools = fields.array("tools").unwrap_or_default().into_iter().map(decode_nested_tool).collect();
        let schema = fields.object("format").map(|schema| ResponseSchema {
            name: String::new(),
            schema: Value::Object(schema),
            strict: true,
        });
        let mut options = fields.nested("options");
        let mut request = Request {
            model: fields.string("model").unwrap_or_default(),
            messages,
            tools,
            response_schema: schema,
            stream: fields.bool("stream").unwrap_or(true),
            ..Request::default()
        };
        if let Some(options) = &mut options {
            request.temperature = options.f64("temperature");
            request.max_tokens = options.u64("num_predict");
            request.top_p = options.f64("top_p");
            request.stop = options.strings("stop").unwrap_or_default();
            request.seed = options.i64("seed");
        }
        if let Some(options) = options {
            fields.give_back("options", options);
        }
        request.extra = fields.rest();
        Ok(request)
    }

    fn decode_response(&self, body: Value) -> Result<Response, ErrorKind> {
        if body.get("error").is_some() {
            return Err(stream::provider_fault(&body));
        }
        let mut fields = Fields::required(body, "the reply")?;
        let message = fields
            .nested("message")
            .ok_or_else(|| ErrorKind::Decode("the reply has no message".to_owned()))?;
        let mut message = message;
        let content = decode_parts(&mut message, 0);
        message.drop_if("role", "assistant");
        fields.give_back("message", message);
        let calls = content.iter().any(|part: &Part| part.as_tool_use().is_some());
        fields.bool("done");
        Ok(Response {
            id: None,
            model: fields.string("model"),
            content,
            stop: fields.string("done_reason").map(|word| stop_reason(&word, calls)),
            usage: usage(&mut fields),
            extra: fields.rest(),
        })
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn stream_decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(ChatLines::default())
    }
}

fn encode_message(
    message: &Message,
    names: &mut HashMap<String, String>,
    messages: &mut Vec<Value>,
    notes: &mut Vec<Note>,
) {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    let mut calls = Vec::new();
    let mut thinking = None;
    let mut results = 0;
    for part in &message.content {
        match &part.kind {
            PartKind::Text(text) => texts.push(text.as_str()),
            PartKind::Image(Media { source: MediaSource::Base64 { data, .. }, .. }) => {
                images.push(data.as_str());
            }
            PartKind::Thinking(thought) => thinking = Some(thought.text.as_str()),
            PartKind::Document(Media { source: MediaSource::Text(document), .. }) => texts.push(document),
            PartKind::ToolUse(call) => {
                names.insert(call.id.clone(), call.name.clone());
                calls.push(encode_call(call, &part.extra, notes));
            }
            PartKind::ToolResult(result) => {
                results += 1;
                let content: String = result.content.iter().filter_map(Part::as_text).collect();
                let mut out = object([("role", "tool".into()), ("content", content.into())]);
                put(&mut out, "tool_name", names.get(&result.id).map(String::as_str));
                put(&mut out, "tool_call_id", (!result.id.is_empty()).then_some(result.id.as_str()));
                merge(&mut out, &part.extra);
                merge(&mut out, &message.extra);
                messages.push(Value::Object(out));
            }
            PartKind::Image(_) | PartKind::Document(_) | PartKind::Other(_) => {
                notes
                    .push(Note::new("content", "left out: this interface takes text and inline images only"));
            }
        }
    }
    if results > 0 && results == message.content.len() {
        return;
    }
    let role = if message.role == Role::Developer { Role::System } else { message.role };
    let mut out = object([("role", role.as_str().into()), ("content", texts.join("\n\n").into())]);
    put(&mut out, "thinking", thinking);
    put(&mut out, "images", (!images.is_empty()).then_some(images));
    put(&mut out, "tool_calls", (!calls.is_empty()).then_some(calls));
    merge(&mut out, &message.extra);
    messages.push(Value::Object(out));
}

fn encode_call(call: &ToolUse, extra: &Object, notes: &mut Vec<Note>) -> Value {
    let arguments = match call.parse_arguments() {
        Ok(value @ Value::Object(_)) => value,
        _ => {
            notes.push(Note::new("arguments", "arguments that are not an object are sent inside one"));
            object([("arguments", call.arguments.as_str().into())]).into()
        }
    };
    let function = object([("name", call.name.as_str().into()), ("arguments", arguments)]);
    let mut out = Object::new();
    put(&mut out, "id", (!call.id.is_empty()).then_some(call.id.as_str()));
    out.insert("function".to_owned(), function.into());
    merge(&mut out, extra);
    Value::Object(out)
}

fn decode_message(index: usize, turn: Value) -> Result<Message, ErrorKind> {
    let mut fields = Fields::required(turn, &format!("messages[{index}]"))?;
    let word = fields.string("role").unwrap_or_default();
    let role = Role::parse(&word)
        .ok_or_else(|| ErrorKind::Decode(format!("messages[{index}] has the unknown role `{word}`")))?;
    let mut content = decode_parts(&mut fields, 0);
    if role == Role::Tool {
        fields.string("tool_name");
        let result =
            ToolResult { id: fields.string("tool_call_id").unwrap_or_default(), content, is_error: false };
        content = vec![Part::new(PartKind::ToolResult(result))];
    }
    Ok(Message { role, content, name: None, extra: fields.rest() })
}

/// Takes thinking, text, images and calls, in that order. Calls without an id are numbered from `first_call`.
fn decode_parts(fields: &mut Fields, first_call: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(text) = fields.string("thinking").filter(|text| !text.is_empty()) {
        parts.push(Part::new(PartKind::Thinking(Thinking { text, ..Thinking::default() })));
    }
    parts.extend(fields.string("content").filter(|text| !text.is_empty()).map(Part::text));
    for data in fields.strings("images").unwrap_or_default() {
        let source = MediaSource::Base64 { media_type: SOME_IMAGE.to_owned(), data };
        parts.push(Part::new(PartKind::Image(Media { source, name: None })));
    }
    let calls = fields.array("tool_calls").unwrap_or_default();
    parts.extend(calls.into_iter().zip(first_call..).map(|(call, number)| decode_call(number, call)));
    parts
}

fn decode_call(number: usize, call: Value) -> Part {
    let whole = call.clone();
    let read = || {
        let mut fields = Fields::of(call).ok()?;
        let mut function = fields.nested("function")?;
        let name = function.string("name")?;
        let arguments =
            function.value("arguments").map_or_else(|| "{}".to_owned(), |value| value.to_string());
        fields.give_back("function", function);
        // Older servers number nothing; a result still needs something to answer.
        let id = fields.string("id").unwrap_or_else(|| format!("call_{number}"));
        Some(Part {
            kind: PartKind::ToolUse(ToolUse { id, name, arguments }),
            cache: None,
            extra: fields.rest(),
        })
    };
    read().unwrap_or_else(|| Part::new(PartKind::Other(whole)))
}

fn stop_reason(word: &str, calls: bool) -> StopReason {
    match word {
        "stop" if calls => StopReason::ToolUse,
        "stop" => StopReason::End,
        "length" => StopReason::MaxTokens,
        other => StopReason::Other(other.to_owned()),
    }
}

fn usage(fields: &mut Fields) -> Option<Usage> {
    let (input, output) = (fields.u64("prompt_eval_count"), fields.u64("eval_count"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input: input.unwrap_or_default(),
        output: output.unwrap_or_default(),
        ..Usage::default()
    })
}

/// Reads the lines of one reply.
#[derive(Debug, Default)]
struct ChatLines {
    started: bool,
    progress: Progress,
    calls: usize,
}

impl StreamDecoder for ChatLines {
    fn decode(&mut self, data: &str, events: &mut Vec<StreamEvent>) -> Result<(), ErrorKind> {
        let line = stream::parse_frame(data)?;
        if line.get("error").is_some() {
            return Err(stream::provider_fault(&line));
        }
        let mut fields = Fields::required(line, "a line")?;
        if !self.started {
            self.started = true;
            events.push(StreamEvent::Start { id: None, model: fields.string("model") });
        }
        if let Some(mut message) = fields.nested("message") {
            let parts = decode_parts(&mut message, self.calls);
            events.extend(parts.into_iter().filter_map(|part| self.event(part)));
        }
        if fields.bool("done") == Some(true) {
            self.progress = Progress::Over;
            if let Some(usage) = usage(&mut fields) {
                events.push(StreamEvent::Usage(usage));
            }
            let word = fields.string("done_reason").unwrap_or_else(|| "stop".to_owned());
            events.push(StreamEvent::Stop(stop_reason(&word, self.calls > 0)));
        }
        Ok(())
    }

    fn counts(&mut self, line: Value) -> Option<Usage> {
        Fields::of(line).ok().and_then(|mut line| usage(&mut line))
    }

    fn progress(&self) -> Progress {
        self.progress
    }
}

impl ChatLines {
    fn event(&mut self, part: Part) -> Option<StreamEvent> {
        Some(match part.kind {
            PartKind::Text(text) => StreamEvent::Text { index: 0, text },
            PartKind::Thinking(thinking) => {
                StreamEvent::Thinking { index: 0, text: thinking.text, signature: None, redacted: None }
            }
            PartKind::ToolUse(ToolUse { id, name, arguments }) => {
                let index = self.calls;
                self.calls += 1;
                StreamEvent::ToolCall { index, id: Some(id), name: Some(name), arguments }
            }
            PartKind::Other(value) => StreamEvent::Raw(value),
            PartKind::Image(_) | PartKind::Document(_) | PartKind::ToolResult(_) => return None,
        })
    }
}
