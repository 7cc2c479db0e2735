//! Folds the events of a stream into the answer that the same model would have given in one piece.

use std::collections::HashMap;

use stave_canon::{Object, Value};

use super::{Part, PartKind, Response, StopReason, StreamEvent, Thinking, ToolUse, Usage};

/// Where a streamed answer grows.
///
/// Parts are in the order in which they first appeared. Raw events are kept in `extra.events`, so that
/// nothing a provider said is lost.
#[derive(Debug, Clone, Default)]
pub struct Accumulator {
    id: Option<String>,
    model: Option<String>,
    parts: Vec<PartKind>,
    /// The place of each part in `parts`.
    places: HashMap<(Kind, usize), usize>,
    stop: Option<StopReason>,
    usage: Option<Usage>,
    raw: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
}

impl Accumulator {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Start { id, model } => {
                self.id = id.or(self.id.take());
                self.model = model.or(self.model.take());
            }
            StreamEvent::Text { index, text } => {
                if let PartKind::Text(whole) = self.slot(Kind::Text, index) {
                    whole.push_str(&text);
                }
            }
            StreamEvent::Thinking { index, text, signature, redacted } => {
                if let PartKind::Thinking(thinking) = self.slot(Kind::Thinking, index) {
                    thinking.text.push_str(&text);
                    append(&mut thinking.signature, signature);
                    append(&mut thinking.redacted, redacted);
                }
            }
            StreamEvent::ToolCall { index, id, name, arguments } => {
                if let PartKind::ToolUse(call) = self.slot(Kind::ToolCall, index) {
                    // Some servers repeat id and name with every piece, so they replace and never append.
                    if let Some(id) = id.filter(|id| !id.is_empty()) {
                        call.id = id;
                    }
                    if let Some(name) = name.filter(|name| !name.is_empty()) {
                        call.name = name;
                    }
                    call.arguments.push_str(&arguments);
                }
            }
            StreamEvent::Usage(usage) => self.usage = Some(usage),
            StreamEvent::Stop(stop) => self.stop = Some(stop),
            StreamEvent::Raw(value) => self.raw.push(value),
        }
    }

    #[must_use]
    pub fn finish(self) -> Response {
        let content = self
            .parts
            .into_iter()
            .filter(|kind| !matches!(kind, PartKind::Text(text) if text.is_empty()))
            .map(Part::new)
            .collect();
        let mut extra = Object::new();
        if !self.raw.is_empty() {
            extra.insert("events".to_owned(), Value::Array(self.raw));
        }
        Response { id: self.id, model: self.model, content, stop: self.stop, usage: self.usage, extra }
    }

    fn slot(&mut self, kind: Kind, index: usize) -> &mut PartKind {
        let place = *self.places.entry((kind, index)).or_insert_with(|| {
            self.parts.push(match kind {
                Kind::Text => PartKind::Text(String::new()),
                Kind::Thinking => PartKind::Thinking(Thinking::default()),
                Kind::ToolCall => PartKind::ToolUse(ToolUse {
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                }),
            });
            self.parts.len() - 1
        });
        &mut self.parts[place]
    }
}

fn append(whole: &mut Option<String>, piece: Option<String>) {
    if let Some(piece) = piece {
        whole.get_or_insert_default().push_str(&piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_interleaved_parts_grow_their_own_part_in_order_of_appearance() {
        let mut accumulator = Accumulator::new();
        let call = |index, id: Option<&str>, arguments: &str| StreamEvent::ToolCall {
            index,
            id: id.map(str::to_owned),
            name: id.map(|_| "look_up".to_owned()),
            arguments: arguments.to_owned(),
        };
        for event in [
            StreamEvent::Start { id: Some("r1".to_owned()), model: None },
            StreamEvent::Text { index: 0, text: "Let me ".to_owned() },
            call(0, Some("a"), "{\"x\""),
            call(1, Some("b"), "{}"),
            StreamEvent::Text { index: 0, text: "look.".to_owned() },
            call(0, None, ":1}"),
            StreamEvent::Start { id: None, model: Some("m".to_owned()) },
            StreamEvent::Usage(Usage { input: 1, ..Usage::default() }),
            StreamEvent::Usage(Usage { input: 1, output: 2, ..Usage::default() }),
            StreamEvent::Stop(StopReason::ToolUse),
            StreamEvent::Raw(Value::from("odd")),
        ] {
            accumulator.add(event);
        }
        let response = accumulator.finish();
        assert_eq!(response.text(), "Let me look.");
        let calls: Vec<_> = response.tool_calls().map(|call| (&*call.id, &*call.arguments)).collect();
        assert_eq!(calls, [("a", "{\"x\":1}"), ("b", "{}")]);
        assert_eq!((response.id.as_deref(), response.model.as_deref()), (Some("r1"), Some("m")));
        assert_eq!(response.usage.map(|usage| usage.total()), Some(3));
        assert_eq!(response.stop, Some(StopReason::ToolUse));
        assert_eq!(response.extra.get("events"), Some(&Value::from(vec!["odd"])));
    }
}
