//! A request to a model.

use stave_canon::{Object, ParseError, Value};
use stave_shape::Shape;

use crate::codec::neutral::content;

/// One request, independent of provider and transport.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(not_null)]
pub struct Request {
    /// The model's name on the wire. When empty, the target's model is used.
    #[shape(default, omit_default)]
    pub model: String,
    #[shape(default)]
    pub messages: Vec<Message>,
    #[shape(default, omit_default)]
    pub tools: Vec<Tool>,
    pub tool_choice: Option<ToolChoice>,
    pub parallel_tool_calls: Option<bool>,
    pub response_schema: Option<ResponseSchema>,
    pub temperature: Option<f64>,
    #[shape(max = i64::MAX)]
    pub max_tokens: Option<u64>,
    pub top_p: Option<f64>,
    /// Texts at which the model stops.
    #[shape(default, omit_default)]
    pub stop: Vec<String>,
    pub seed: Option<i64>,
    /// Whether the reply comes in pieces. It never changes what the reply says.
    #[shape(default, omit_default)]
    pub stream: bool,
    /// The caller's labels, which a provider stores and the model never sees.
    #[shape(default, omit_default)]
    pub metadata: Object,
    /// Fields of one provider, written to its wire as they are.
    #[shape(default, omit_default)]
    pub extra: Object,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub struct Message {
    pub role: Role,
    /// Distinguishes participants of the same role, where a provider can.
    pub name: Option<String>,
    /// A text, or a list of parts.
    #[shape(default, with = content)]
    pub content: Vec<Part>,
    #[shape(default, omit_default)]
    pub extra: Object,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    // Its parts are [`PartKind::ToolResult`].
    /// Carries the results of tools.
    Tool,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub kind: PartKind,
    /// Ask the provider to keep everything up to and including this part.
    pub cache: Option<CacheMark>,
    pub extra: Object,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    Text(String),
    Image(Media),
    Document(Media),
    ToolUse(ToolUse),
    ToolResult(ToolResult),
    Thinking(Thinking),
    /// A part that only its own provider understands, whole and as it came.
    Other(Value),
}

/// An image or a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    pub source: MediaSource,
    /// The file's name or the document's title.
    pub name: Option<String>,
}

/// Where the bytes of a [`Media`] are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    Base64 {
        media_type: String,
        data: String,
    },
    Url(String),
    /// A file that was uploaded to the provider before, by its id there.
    File(String),
    /// A document that is plain text.
    Text(String),
}

/// A model's wish to call a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    pub id: String,
    pub name: String,
    /// The arguments as JSON text. A model can write text that is not JSON, so it is parsed by the reader.
    pub arguments: String,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The [`ToolUse::id`] that is answered.
    pub id: String,
    pub content: Vec<Part>,
    pub is_error: bool,
}

/// A model's reasoning, as far as its provider shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thinking {
    pub text: String,
    /// The provider's proof that the text is its own; it must go back unchanged.
    pub signature: Option<String>,
    /// Reasoning that the provider shows in encrypted form only.
    pub redacted: Option<String>,
}

/// A request to keep a prefix in the provider's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CacheMark {
    /// The provider's default when absent.
    pub ttl: Option<CacheTtl>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheTtl {
    FiveMinutes,
    OneHour,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    Function(FunctionTool),
    /// A tool that the provider runs itself, whole and as it came.
    Provider(Value),
}

/// A tool that the caller runs.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub struct FunctionTool {
    pub name: String,
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    #[shape(default = Value::Object(Object::new()))]
    pub parameters: Value,
    pub strict: Option<bool>,
    pub cache: Option<CacheMark>,
    #[shape(default, omit_default)]
    pub extra: Object,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolChoice {
    Auto,
    None,
    /// Some tool must be called.
    Required,
    /// The named tool must be called.
    Tool(String),
    /// A choice that only its own provider understands.
    Other(Value),
}

/// The shape that the reply must have.
#[derive(Debug, Clone, PartialEq, Shape)]
pub struct ResponseSchema {
    /// A name for the schema; providers want letters, digits, `_` and `-`.
    pub name: String,
    pub schema: Value,
    // A codec adapts a copy of the schema to what the provider's strict mode accepts and says in a note when that is not
    // possible.
    /// Ask the provider to hold the model to the schema.
    #[shape(default)]
    pub strict: bool,
}

impl Request {
    #[must_use]
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Request { model: model.into(), messages, ..Request::default() }
    }
}

impl Message {
    #[must_use]
    pub fn new(role: Role, content: Vec<Part>) -> Self {
        Message { role, content, name: None, extra: Object::new() }
    }

    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Message::new(role, vec![Part::text(text)])
    }

    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Message::text(Role::System, text)
    }

    #[must_use]
    pub fn developer(text: impl Into<String>) -> Self {
        Message::text(Role::Developer, text)
    }

    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Message::text(Role::User, text)
    }

    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Message::text(Role::Assistant, text)
    }

    /// The answer to one tool call.
    #[must_use]
    pub fn tool_result(id: impl Into<String>, text: impl Into<String>, is_error: bool) -> Self {
        let result = ToolResult { id: id.into(), content: vec![Part::text(text)], is_error };
        Message::new(Role::Tool, vec![Part::new(PartKind::ToolResult(result))])
    }

    /// The texts of the message in order, those inside tool results included.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().flat_map(Part::texts)
    }
}

impl Role {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "system" => Role::System,
            "developer" => Role::Developer,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => return None,
        })
    }
}

impl Part {
    #[must_use]
    pub fn new(kind: PartKind) -> Self {
        Part { kind, cache: None, extra: Object::new() }
    }

    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Part::new(PartKind::Text(text.into()))
    }

    #[must_use]
    pub fn with_cache(mut self, cache: CacheMark) -> Self {
        self.cache = Some(cache);
        self
    }

    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let PartKind::Text(text) = &self.kind { Some(text) } else { None }
    }

    #[must_use]
    pub fn as_tool_use(&self) -> Option<&ToolUse> {
        if let PartKind::ToolUse(call) = &self.kind { Some(call) } else { None }
    }

    /// Whether the part is text and nothing else, so that a wire may write it as a plain string.
    #[must_use]
    pub fn is_plain_text(&self) -> bool {
        self.cache.is_none() && self.extra.is_empty() && matches!(self.kind, PartKind::Text(_))
    }

    /// The texts of the part: its own, or those inside a tool result.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (own, nested) = match &self.kind {
            PartKind::Text(text) => (Some(text.as_str()), [].as_slice()),
            PartKind::ToolResult(result) => (None, result.content.as_slice()),
            _ => (None, [].as_slice()),
        };
        own.into_iter().chain(nested.iter().filter_map(Part::as_text))
    }
}

impl ToolUse {
    /// The arguments as a value. Some models send an empty text for "no arguments".
    pub fn parse_arguments(&self) -> Result<Value, ParseError> {
        if self.arguments.trim().is_empty() {
            return Ok(Value::Object(Object::new()));
        }
        stave_canon::parse(&self.arguments)
    }
}

impl Tool {
    #[must_use]
    pub fn function(name: impl Into<String>, description: Option<String>, parameters: Value) -> Self {
        Tool::Function(FunctionTool {
            name: name.into(),
            description,
            parameters,
            strict: None,
            cache: None,
            extra: Object::new(),
        })
    }
}
