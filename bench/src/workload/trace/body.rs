//! Bodies of requests in two interfaces, from one description.

use stave_canon::{Object, Value};

use super::super::random::Random;

/// The interface that bodies are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    OpenAi,
}

/// One message of a conversation.
#[derive(Debug, Clone)]
pub(super) enum Message {
    User(String),
    Assistant(String),
    /// Tool calls of the assistant: id, name and what is asked.
    Calls(Vec<(String, &'static str, String)>),
    /// Their results: id and text.
    Results(Vec<(String, String)>),
    /// A question about a picture.
    Picture(String, String),
    /// What the assistant thought before it answered.
    Thought(String, String),
}

/// The marks that a client sets itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Marks {
    #[default]
    None,
    /// On the system text and on the last message.
    Ends,
    /// On the last tool, the system text and the last two messages: all that there may be.
    Four,
    /// The system text for an hour, the last message for five minutes.
    LongScaffold,
    /// On the system text and on the last message, for an hour each.
    LongEnds,
    /// On the system text only.
    System,
    /// On the system text only, for an hour.
    LongSystem,
    /// On the last message only.
    Last,
    /// On the last message only, for an hour.
    LongLast,
    /// At the top of the body.
    Automatic,
}

impl Marks {
    /// The mark of the system text: whether it is for an hour.
    fn system(self) -> Option<bool> {
        match self {
            Marks::Ends | Marks::Four | Marks::System => Some(false),
            Marks::LongScaffold | Marks::LongEnds | Marks::LongSystem => Some(true),
            Marks::None | Marks::Last | Marks::LongLast | Marks::Automatic => None,
        }
    }

    /// How many of the last messages are marked.
    fn messages(self) -> usize {
        match self {
            Marks::None | Marks::System | Marks::LongSystem | Marks::Automatic => 0,
            Marks::Ends | Marks::LongScaffold | Marks::LongEnds | Marks::Last | Marks::LongLast => 1,
            Marks::Four => 2,
        }
    }

    /// Whether the marks of messages are for an hour.
    fn long_messages(self) -> bool {
        matches!(self, Marks::LongEnds | Marks::LongLast)
    }
}

/// A request before it is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) tools: Vec<Value>,
    pub(super) system: Vec<String>,
    pub(super) messages: Vec<Message>,
    pub(super) marks: Marks,
    pub(super) model: Option<&'static str>,
}

impl Draft {
    pub(super) fn body(&self, wire: Wire) -> String {
        match wire {
            Wire::Anthropic => self.anthropic(),
            Wire::OpenAi => self.openai(),
        }
    }

    fn anthropic(&self) -> String {
        let mut body = Object::new();
        body.insert("model".into(), self.model.unwrap_or("claude-sonnet-4-6").into());
        body.insert("max_tokens".into(), 4096.into());
        if self.marks == Marks::Automatic {
            body.insert("cache_control".into(), object([("type", "ephemeral".into())]));
        }
        if !self.tools.is_empty() {
            let mut tools = self.tools.clone();
            if let (Marks::Four, Some(last)) = (self.marks, tools.pop()) {
                tools.push(with_mark(last, false));
            }
            body.insert("tools".into(), tools.into());
        }
        let system_mark = self.marks.system();
        let last_system = self.system.len().saturating_sub(1);
        if self.system.len() == 1 && system_mark.is_none() {
            body.insert("system".into(), self.system[0].as_str().into());
        } else if !self.system.is_empty() {
            let blocks = self.system.iter().enumerate().map(|(index, text)| {
                let block = text_block(text);
                match system_mark.filter(|_| index == last_system) {
                    Some(long) => with_mark(block, long),
                    None => block,
                }
            });
            body.insert("system".into(), blocks.collect::<Vec<Value>>().into());
        }
        let count = self.messages.len();
        let marked = self.marks.messages();
        let messages = self.messages.iter().enumerate();
        let messages = messages.map(|(index, message)| {
            let mark = (index + marked >= count).then_some(self.marks.long_messages());
            anthropic_message(message, mark)
        });
        body.insert("messages".into(), messages.collect::<Vec<Value>>().into());
        Value::Object(body).to_string()
    }

    fn openai(&self) -> String {
        let mut messages: Vec<Value> = self.system.iter().map(|text| spoken("system", text)).collect();
        for message in &self.messages {
            match message {
                Message::User(text) => messages.push(spoken("user", text)),
                Message::Assistant(text) | Message::Thought(_, text) => {
                    messages.push(spoken("assistant", text));
                }
                Message::Picture(picture, text) => {
                    let url = object([("url", format!("data:image/png;base64,{picture}").into())]);
                    let image = object([("type", "image_url".into()), ("image_url", url)]);
                    let content = vec![image, text_block(text)];
                    messages.push(object([("role", "user".into()), ("content", content.into())]));
                }
                Message::Calls(calls) => {
                    let calls: Vec<Value> = calls.iter().map(openai_call).collect();
                    messages.push(object([
                        ("role", "assistant".into()),
                        ("content", Value::Null),
                        ("tool_calls", calls.into()),
                    ]));
                }
                Message::Results(results) => messages.extend(results.iter().map(|(id, text)| {
                    object([
                        ("role", "tool".into()),
                        ("tool_call_id", id.as_str().into()),
                        ("content", text.as_str().into()),
                    ])
                })),
            }
        }
        let mut body = Object::new();
        body.insert("model".into(), self.model.unwrap_or("gpt-5").into());
        if !self.tools.is_empty() {
            let tools: Vec<Value> = self.tools.iter().map(openai_tool).collect();
            body.insert("tools".into(), tools.into());
        }
        body.insert("messages".into(), messages.into());
        Value::Object(body).to_string()
    }
}

/// A tool definition of about `words` words.
pub(super) fn tool(name: &str, words: usize, random: &mut Random) -> Value {
    let properties: Vec<(String, Value)> = (0..3)
        .map(|_| {
            let description = text(words / 4, random);
            let property = object([("type", "string".into()), ("description", description.into())]);
            (format!("{}_{}", random.word(), random.below(1000)), property)
        })
        .collect();
    let schema = object([
        ("type", "object".into()),
        ("properties", Value::Object(properties.into_iter().collect())),
        ("additionalProperties", false.into()),
    ]);
    object([("name", name.into()), ("description", text(words / 4, random).into()), ("input_schema", schema)])
}

/// A text of `words` words.
pub(super) fn text(words: usize, random: &mut Random) -> String {
    let mut text = String::new();
    for index in 0..words.max(1) {
        if index > 0 {
            text.push(if index % 17 == 0 { '\n' } else { ' ' });
        }
        text.push_str(random.word());
    }
    text
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::from_iter(members.map(|(key, value)| (key.to_owned(), value)))
}

fn text_block(text: &str) -> Value {
    object([("type", "text".into()), ("text", text.into())])
}

fn with_mark(mut block: Value, long: bool) -> Value {
    if let Some(block) = block.as_object_mut() {
        let mut mark = object([("type", "ephemeral".into())]);
        if let (true, Some(mark)) = (long, mark.as_object_mut()) {
            mark.insert("ttl".into(), "1h".into());
        }
        block.insert("cache_control".into(), mark);
    }
    block
}

/// `mark` is the client's mark on the message, and whether it is for an hour.
fn anthropic_message(message: &Message, mark: Option<bool>) -> Value {
    let (role, mut content): (&str, Vec<Value>) = match message {
        Message::User(text) => {
            if mark.is_none() {
                return spoken("user", text);
            }
            ("user", vec![text_block(text)])
        }
        Message::Assistant(text) => ("assistant", vec![text_block(text)]),
        Message::Picture(picture, text) => {
            let source = object([
                ("type", "base64".into()),
                ("media_type", "image/png".into()),
                ("data", picture.as_str().into()),
            ]);
            let image = object([("type", "image".into()), ("source", source)]);
            ("user", vec![image, text_block(text)])
        }
        Message::Thought(thought, text) => {
            let thinking = object([
                ("type", "thinking".into()),
                ("thinking", thought.as_str().into()),
                ("signature", "c2lnbmVk".into()),
            ]);
            ("assistant", vec![thinking, text_block(text)])
        }
        Message::Calls(calls) => {
            let calls = calls.iter().map(|(id, name, asked)| {
                object([
                    ("type", "tool_use".into()),
                    ("id", id.as_str().into()),
                    ("name", (*name).into()),
                    ("input", object([("query", asked.as_str().into())])),
                ])
            });
            ("assistant", calls.collect())
        }
        Message::Results(results) => {
            let results = results.iter().map(|(id, text)| {
                object([
                    ("type", "tool_result".into()),
                    ("tool_use_id", id.as_str().into()),
                    ("content", text.as_str().into()),
                ])
            });
            ("user", results.collect())
        }
    };
    if let (Some(long), Some(last)) = (mark, content.last().cloned()) {
        content.pop();
        content.push(with_mark(last, long));
    }
    object([("role", role.into()), ("content", content.into())])
}

fn spoken(role: &str, text: &str) -> Value {
    object([("role", role.into()), ("content", text.into())])
}

fn openai_call((id, name, asked): &(String, &'static str, String)) -> Value {
    let arguments = object([("query", asked.as_str().into())]).to_string();
    let function = object([("name", (*name).into()), ("arguments", arguments.into())]);
    object([("id", id.as_str().into()), ("type", "function".into()), ("function", function)])
}

fn openai_tool(tool: &Value) -> Value {
    let field = |key: &str| tool.get(key).cloned().unwrap_or_default();
    let function = object([
        ("name", field("name")),
        ("description", field("description")),
        ("parameters", field("input_schema")),
    ]);
    object([("type", "function".into()), ("function", function)])
}
