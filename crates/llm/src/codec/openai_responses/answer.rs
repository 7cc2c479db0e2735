//! Replies in the words of the responses interface.
//!
//! Every part of a reply is an item of its own, numbered in the order in which the parts first appeared; items
//! may grow at the same time, and all of them are finished when the stream ends.

use stave_canon::{Object, Value};

use super::super::answer::{AnswerFault, Envelope, StreamEncoder, write_event};
use super::super::fields::{object, put};
use super::super::openai::{error_body, usage_counts};
use crate::{Accumulator, Part, PartKind, Response, StopReason, StreamEvent, Usage};

pub(super) fn encode_response(response: &Response, envelope: &Envelope) -> Value {
    let id = envelope.id_of(response.id.as_deref());
    let parts = response.content.iter().filter(|part| Item::of(part).is_some());
    let output = parts.enumerate().filter_map(|(place, part)| item(id, place, part, "completed")).collect();
    Value::Object(body(envelope, response, output))
}

fn body(envelope: &Envelope, response: &Response, output: Vec<Value>) -> Object {
    let (status, details) = match &response.stop {
        Some(StopReason::MaxTokens) => ("incomplete", Some("max_output_tokens")),
        Some(StopReason::Refusal) => ("incomplete", Some("content_filter")),
        _ => ("completed", None),
    };
    let details = details.map(|reason| Value::Object(object([("reason", reason.into())])));
    let mut body = frame(envelope, response.id.as_deref(), response.model.as_deref(), status, output);
    body.insert("incomplete_details".to_owned(), details.unwrap_or(Value::Null));
    put(&mut body, "usage", response.usage.map(encode_usage));
    body
}

/// The fields that a reply has from its first event on.
fn frame(
    envelope: &Envelope,
    id: Option<&str>,
    model: Option<&str>,
    status: &str,
    output: Vec<Value>,
) -> Object {
    object([
        ("id", envelope.id_of(id).into()),
        ("object", "response".into()),
        ("created_at", envelope.created.into()),
        ("status", status.into()),
        ("error", Value::Null),
        ("incomplete_details", Value::Null),
        ("instructions", Value::Null),
        ("metadata", Object::new().into()),
        ("model", envelope.model_of(model).into()),
        ("output", output.into()),
        ("parallel_tool_calls", true.into()),
        ("tool_choice", "auto".into()),
        ("tools", Vec::<Value>::new().into()),
    ])
}

fn encode_usage(usage: Usage) -> Value {
    usage_counts(usage, ["input_tokens", "output_tokens"], ["input_tokens_details", "output_tokens_details"])
}

/// The kinds of items that a reply of a model becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Message,
    Reasoning,
    FunctionCall,
}

impl Item {
    fn of(part: &Part) -> Option<Self> {
        match &part.kind {
            PartKind::Text(_) => Some(Item::Message),
            PartKind::Thinking(_) => Some(Item::Reasoning),
            PartKind::ToolUse(_) => Some(Item::FunctionCall),
            PartKind::Image(_) | PartKind::Document(_) | PartKind::ToolResult(_) | PartKind::Other(_) => None,
        }
    }

    /// The item's id, made from the reply's and its place, so that the same reply always reads the same.
    fn id(self, reply: &str, place: usize) -> String {
        let prefix = match self {
            Item::Message => "msg",
            Item::Reasoning => "rs",
            Item::FunctionCall => "fc",
        };
        format!("{prefix}_{reply}_{place}")
    }
}

fn item(reply: &str, place: usize, part: &Part, status: &str) -> Option<Value> {
    let id = Item::of(part)?.id(reply, place);
    Some(Value::Object(match &part.kind {
        PartKind::Text(text) => object([
            ("type", "message".into()),
            ("id", id.into()),
            ("status", status.into()),
            ("role", "assistant".into()),
            ("content", vec![output_text(text)].into()),
        ]),
        PartKind::Thinking(thinking) => {
            let piece = object([("type", "summary_text".into()), ("text", thinking.text.as_str().into())]);
            let summary = if thinking.text.is_empty() { Vec::new() } else { vec![Value::Object(piece)] };
            let mut out =
                object([("type", "reasoning".into()), ("id", id.into()), ("summary", summary.into())]);
            put(&mut out, "encrypted_content", thinking.redacted.as_deref());
            out
        }
        PartKind::ToolUse(call) => object([
            ("type", "function_call".into()),
            ("id", id.into()),
            ("status", status.into()),
            ("call_id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("arguments", call.arguments.as_str().into()),
        ]),
        PartKind::Image(_) | PartKind::Document(_) | PartKind::ToolResult(_) | PartKind::Other(_) => {
            return None;
        }
    }))
}

fn output_text(text: &str) -> Value {
    Value::Object(object([
        ("type", "output_text".into()),
        ("text", text.into()),
        ("annotations", Vec::<Value>::new().into()),
    ]))
}

/// Writes the events of one reply.
#[derive(Debug)]
pub(super) struct ResponseEvents {
    envelope: Envelope,
    started: bool,
    /// The items in the order in which they appeared.
    items: Vec<(Item, usize)>,
    whole: Accumulator,
    written: u64,
}

impl ResponseEvents {
    pub(super) fn new(envelope: Envelope) -> Self {
        ResponseEvents { envelope, started: false, items: Vec::new(), whole: Accumulator::new(), written: 0 }
    }

    fn start(&mut self, out: &mut String) {
        if self.started {
            return;
        }
        self.started = true;
        for kind in ["response.created", "response.in_progress"] {
            let response = frame(&self.envelope, None, None, "in_progress", Vec::new());
            self.write(kind, [("response", response.into())], out);
        }
    }

    fn write<const N: usize>(&mut self, kind: &str, members: [(&str, Value); N], out: &mut String) {
        let mut event = object([("type", kind.into()), ("sequence_number", self.written.into())]);
        event.extend(members.into_iter().map(|(key, value)| (key.to_owned(), value)));
        self.written += 1;
        write_event(Some(kind), &Value::Object(event), out);
    }

    /// The place of an item, and its id; what begins it is written when it is new.
    fn place(&mut self, item: (Item, usize), part: PartKind, out: &mut String) -> (usize, String) {
        let known = self.items.iter().position(|known| *known == item);
        let place = known.unwrap_or(self.items.len());
        let id = item.0.id(&self.envelope.id, place);
        if known.is_none() {
            self.items.push(item);
            let mut begun = self::item(&self.envelope.id, place, &Part::new(part), "in_progress");
            if let Some(Value::Object(begun)) = &mut begun
                && item.0 == Item::Message
            {
                begun.insert("content".to_owned(), Vec::<Value>::new().into());
            }
            let begun = begun.unwrap_or(Value::Null);
            self.write("response.output_item.added", [("output_index", place.into()), ("item", begun)], out);
            match item.0 {
                Item::Message => {
                    let part = output_text("");
                    self.part("response.content_part.added", &id, place, ("content_index", part), out);
                }
                Item::Reasoning => {
                    let part = object([("type", "summary_text".into()), ("text", "".into())]).into();
                    self.part(
                        "response.reasoning_summary_part.added",
                        &id,
                        place,
                        ("summary_index", part),
                        out,
                    );
                }
                Item::FunctionCall => {}
            }
        }
        (place, id)
    }

    fn part(&mut self, kind: &str, id: &str, place: usize, (counter, part): (&str, Value), out: &mut String) {
        let members =
            [("item_id", id.into()), ("output_index", place.into()), (counter, 0_u64.into()), ("part", part)];
        self.write(kind, members, out);
    }

    /// Writes a growing or finished text of an item.
    fn text(&mut self, kind: &str, (id, place): (&str, usize), (key, text): (&str, &str), out: &mut String) {
        let item = [("item_id", id.into()), ("output_index", place.into())];
        let [item_id, output_index] = item;
        let text = (key, Value::from(text));
        if kind.starts_with("response.function_call") {
            self.write(kind, [item_id, output_index, text], out);
        } else {
            let counter = if kind.starts_with("response.output") { "content_index" } else { "summary_index" };
            self.write(kind, [item_id, output_index, (counter, 0_u64.into()), text], out);
        }
    }

    fn piece(&mut self, event: &StreamEvent, out: &mut String) {
        match event {
            StreamEvent::Text { index, text } if !text.is_empty() => {
                let kind = PartKind::Text(String::new());
                let (place, id) = self.place((Item::Message, *index), kind, out);
                self.text("response.output_text.delta", (&id, place), ("delta", text), out);
            }
            StreamEvent::Thinking { index, text, .. } => {
                let kind = PartKind::Thinking(crate::Thinking::default());
                let (place, id) = self.place((Item::Reasoning, *index), kind, out);
                if !text.is_empty() {
                    self.text("response.reasoning_summary_text.delta", (&id, place), ("delta", text), out);
                }
            }
            StreamEvent::ToolCall { index, id, name, arguments } => {
                let kind = PartKind::ToolUse(crate::ToolUse {
                    id: id.clone().unwrap_or_default(),
                    name: name.clone().unwrap_or_default(),
                    arguments: String::new(),
                });
                let (place, id) = self.place((Item::FunctionCall, *index), kind, out);
                if !arguments.is_empty() {
                    self.text(
                        "response.function_call_arguments.delta",
                        (&id, place),
                        ("delta", arguments),
                        out,
                    );
                }
            }
            _ => {}
        }
    }

    /// Finishes one item.
    fn done(&mut self, place: usize, part: &Part, out: &mut String) {
        let Some(kind) = Item::of(part) else { return };
        let id = kind.id(&self.envelope.id, place);
        match &part.kind {
            PartKind::Text(text) => {
                self.text("response.output_text.done", (&id, place), ("text", text), out);
                let part = output_text(text);
                self.part("response.content_part.done", &id, place, ("content_index", part), out);
            }
            PartKind::Thinking(thinking) => {
                let text = thinking.text.as_str();
                self.text("response.reasoning_summary_text.done", (&id, place), ("text", text), out);
                let part = object([("type", "summary_text".into()), ("text", text.into())]).into();
                self.part("response.reasoning_summary_part.done", &id, place, ("summary_index", part), out);
            }
            PartKind::ToolUse(call) => {
                let kind = "response.function_call_arguments.done";
                self.text(kind, (&id, place), ("arguments", &call.arguments), out);
            }
            _ => {}
        }
        let done = item(&self.envelope.id, place, part, "completed").unwrap_or(Value::Null);
        self.write("response.output_item.done", [("output_index", place.into()), ("item", done)], out);
    }
}

impl StreamEncoder for ResponseEvents {
    fn encode(&mut self, event: StreamEvent, out: &mut String) {
        if let StreamEvent::Start { id, model } = &event
            && !self.started
        {
            self.envelope.id = self.envelope.id_of(id.as_deref()).to_owned();
            self.envelope.model = self.envelope.model_of(model.as_deref()).to_owned();
        }
        self.start(out);
        self.piece(&event, out);
        if !matches!(event, StreamEvent::Raw(_)) {
            self.whole.add(event);
        }
    }

    fn finish(&mut self, out: &mut String) {
        self.start(out);
        let whole = std::mem::take(&mut self.whole).finish();
        for (place, part) in whole.content.iter().enumerate() {
            self.done(place, part, out);
        }
        let output = whole.content.iter().enumerate();
        let output =
            output.filter_map(|(place, part)| item(&self.envelope.id, place, part, "completed")).collect();
        let response = body(&self.envelope, &whole, output);
        let incomplete = response.get("status").and_then(Value::as_str) == Some("incomplete");
        let kind = if incomplete { "response.incomplete" } else { "response.completed" };
        self.write(kind, [("response", response.into())], out);
    }

    fn fail(&mut self, fault: &AnswerFault, out: &mut String) {
        let body = error_body(fault);
        let error = |key: &str| body.pointer(&format!("/error/{key}")).cloned().unwrap_or(Value::Null);
        let members = [("code", error("code")), ("message", error("message")), ("param", Value::Null)];
        self.write("error", members, out);
    }
}
