//! Parts, tools, choices and replies as they are written.

use stave_canon::{Object, Value};
use stave_shape::{Definitions, Place, Reader, Shape, ValueKind, ValueNode, words_schema};

use crate::codec::fields::compact;
use crate::{
    CacheMark, CacheTtl, FunctionTool, Media, MediaSource, Part, PartKind, Response, StopReason, Thinking,
    Tool, ToolChoice, ToolResult, ToolUse, Usage,
};

/// One piece of a message.
#[derive(Debug, Shape)]
#[shape(tag = "type", not_null, name = "Part")]
enum PartForm {
    Text {
        text: String,
        cache: Option<CacheMark>,
        #[shape(default, omit_default)]
        extra: Object,
    },
    Image {
        #[shape(with = source)]
        source: MediaSource,
        /// The file's name.
        name: Option<String>,
        cache: Option<CacheMark>,
        #[shape(default, omit_default)]
        extra: Object,
    },
    Document {
        #[shape(with = source)]
        source: MediaSource,
        /// The document's title.
        name: Option<String>,
        cache: Option<CacheMark>,
        #[shape(default, omit_default)]
        extra: Object,
    },
    /// A model's wish to call a tool.
    ToolUse {
        id: String,
        name: String,
        #[shape(default = no_arguments(), with = arguments)]
        arguments: String,
        cache: Option<CacheMark>,
        #[shape(default, omit_default)]
        extra: Object,
    },
    /// What a tool answered.
    ToolResult {
        /// The call that is answered.
        id: String,
        #[shape(default, with = content)]
        content: Vec<Part>,
        #[shape(default, omit_default)]
        is_error: bool,
        cache: Option<CacheMark>,
        #[shape(default, omit_default)]
        extra: Object,
    },
    /// A model's reasoning, as far as its provider shows it.
    Thinking {
        #[shape(default)]
        text: String,
        /// The provider's proof that the text is its own.
        signature: Option<String>,
        /// Reasoning in encrypted form.
        redacted: Option<String>,
        cache: Option<CacheMark>,
        #[shape(default, omit_default)]
        extra: Object,
    },
    /// A part that only its own provider understands.
    Other {
        value: Value,
        cache: Option<CacheMark>,
        #[shape(default, omit_default)]
        extra: Object,
    },
}

impl From<PartForm> for Part {
    fn from(form: PartForm) -> Self {
        let (kind, cache, extra) = match form {
            PartForm::Text { text, cache, extra } => (PartKind::Text(text), cache, extra),
            PartForm::Image { source, name, cache, extra } => {
                (PartKind::Image(Media { source, name }), cache, extra)
            }
            PartForm::Document { source, name, cache, extra } => {
                (PartKind::Document(Media { source, name }), cache, extra)
            }
            PartForm::ToolUse { id, name, arguments, cache, extra } => {
                (PartKind::ToolUse(ToolUse { id, name, arguments }), cache, extra)
            }
            PartForm::ToolResult { id, content, is_error, cache, extra } => {
                (PartKind::ToolResult(ToolResult { id, content, is_error }), cache, extra)
            }
            PartForm::Thinking { text, signature, redacted, cache, extra } => {
                (PartKind::Thinking(Thinking { text, signature, redacted }), cache, extra)
            }
            PartForm::Other { value, cache, extra } => (PartKind::Other(value), cache, extra),
        };
        Part { kind, cache, extra }
    }
}

impl From<Part> for PartForm {
    fn from(part: Part) -> Self {
        let Part { kind, cache, extra } = part;
        match kind {
            PartKind::Text(text) => PartForm::Text { text, cache, extra },
            PartKind::Image(Media { source, name }) => PartForm::Image { source, name, cache, extra },
            PartKind::Document(Media { source, name }) => PartForm::Document { source, name, cache, extra },
            PartKind::ToolUse(ToolUse { id, name, arguments }) => {
                PartForm::ToolUse { id, name, arguments, cache, extra }
            }
            PartKind::ToolResult(ToolResult { id, content, is_error }) => {
                PartForm::ToolResult { id, content, is_error, cache, extra }
            }
            PartKind::Thinking(Thinking { text, signature, redacted }) => {
                PartForm::Thinking { text, signature, redacted, cache, extra }
            }
            PartKind::Other(value) => PartForm::Other { value, cache, extra },
        }
    }
}

impl Shape for Part {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        PartForm::read(node, at, reader).map(Part::from)
    }

    fn write(&self) -> Value {
        PartForm::from(self.clone()).write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        PartForm::schema(definitions)
    }
}

/// One whole answer. `json` stands for content that is JSON text, and `tool_calls` for calls by name and arguments.
#[derive(Debug, Shape)]
#[shape(not_null, name = "Response")]
struct ResponseForm {
    id: Option<String>,
    /// The model that answered.
    model: Option<String>,
    #[shape(default, with = content)]
    content: Vec<Part>,
    json: Option<Value>,
    #[shape(default, omit_default)]
    tool_calls: Vec<CallForm>,
    /// Why the model stopped.
    stop: Option<StopReason>,
    /// Absent when the provider did not say.
    usage: Option<Usage>,
    #[shape(default, omit_default)]
    extra: Object,
}

/// A call of a tool, written by hand.
#[derive(Debug, PartialEq, Shape)]
#[shape(not_null, name = "ToolCall")]
struct CallForm {
    /// Its number in the list when absent.
    id: Option<String>,
    name: String,
    #[shape(default = no_arguments(), with = arguments)]
    arguments: String,
}

fn no_arguments() -> String {
    "{}".to_owned()
}

impl Shape for Response {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let form = ResponseForm::read(node, at, reader)?;
        let mut content = form.content;
        content.extend(form.json.map(|json| Part::text(compact(&json))));
        let has_calls = !form.tool_calls.is_empty();
        content.extend(form.tool_calls.into_iter().enumerate().map(|(index, call)| {
            let CallForm { id, name, arguments } = call;
            let id = id.unwrap_or_else(|| format!("call_{index}"));
            Part::new(PartKind::ToolUse(ToolUse { id, name, arguments }))
        }));
        Some(Response {
            id: form.id,
            model: form.model,
            content,
            stop: form.stop.or_else(|| has_calls.then_some(StopReason::ToolUse)),
            usage: form.usage,
            extra: form.extra,
        })
    }

    fn write(&self) -> Value {
        let Response { id, model, content, stop, usage, extra } = self.clone();
        ResponseForm { id, model, content, json: None, tool_calls: Vec::new(), stop, usage, extra }.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        ResponseForm::schema(definitions)
    }
}

impl Shape for StopReason {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        String::read(node, at, reader).map(|word| StopReason::parse(&word))
    }

    fn write(&self) -> Value {
        self.as_str().into()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        String::schema(definitions)
    }
}

impl Shape for CacheMark {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let ttl = match reader.word(node, at, CACHE_WORDS)? {
            0 => None,
            place => CACHE_WORDS.get(place).and_then(|word| CacheTtl::parse(word)),
        };
        Some(CacheMark { ttl })
    }

    fn write(&self) -> Value {
        self.ttl.map_or("default", CacheTtl::as_str).into()
    }

    fn schema(_: &mut Definitions) -> Value {
        words_schema("", CACHE_WORDS)
    }
}

const CACHE_WORDS: &[&str] = &["default", "5m", "1h"];

/// A tool that the provider runs itself.
#[derive(Debug, Shape)]
struct ProviderTool {
    provider: Value,
}

impl Shape for Tool {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        match node.member("provider") {
            Some(_) => ProviderTool::read(node, at, reader).map(|tool| Tool::Provider(tool.provider)),
            None => FunctionTool::read(node, at, reader).map(Tool::Function),
        }
    }

    fn write(&self) -> Value {
        match self {
            Tool::Provider(provider) => ProviderTool { provider: provider.clone() }.write(),
            Tool::Function(function) => function.write(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![FunctionTool::schema(definitions), ProviderTool::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// The named tool must be called.
#[derive(Debug, Shape)]
struct ToolByName {
    tool: String,
}

/// A choice that only its own provider understands.
#[derive(Debug, Shape)]
struct OtherChoice {
    other: Value,
}

const CHOICES: &[&str] = &["auto", "none", "required"];

impl Shape for ToolChoice {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        match node.text() {
            Some("auto") => return Some(ToolChoice::Auto),
            Some("none") => return Some(ToolChoice::None),
            Some("required") => return Some(ToolChoice::Required),
            _ => {}
        }
        if node.member("other").is_some() && node.member("tool").is_none() {
            return OtherChoice::read(node, at, reader).map(|choice| ToolChoice::Other(choice.other));
        }
        ToolByName::read(node, at, reader).map(|choice| ToolChoice::Tool(choice.tool))
    }

    fn write(&self) -> Value {
        match self {
            ToolChoice::Auto => "auto".into(),
            ToolChoice::None => "none".into(),
            ToolChoice::Required => "required".into(),
            ToolChoice::Tool(name) => ToolByName { tool: name.clone() }.write(),
            ToolChoice::Other(value) => OtherChoice { other: value.clone() }.write(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![
            words_schema("", CHOICES),
            ToolByName::schema(definitions),
            OtherChoice::schema(definitions),
        ];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// The content of a message. One plain text is written as a string, since that is what people read and write most.
pub(crate) mod content {
    use super::*;

    pub(crate) const WANTED: &str = "a text or a list of parts";

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Vec<Part>> {
        match node.kind() {
            ValueKind::String => node.text().map(|text| vec![Part::text(text)]),
            ValueKind::Array => Vec::read(node, at, reader),
            _ => {
                reader.wrong_type(node, at, WANTED);
                None
            }
        }
    }

    pub(crate) fn write(content: &[Part]) -> Value {
        match content {
            [part] if part.is_plain_text() => part.as_text().unwrap_or_default().into(),
            parts => Value::Array(parts.iter().map(Shape::write).collect()),
        }
    }

    pub(crate) fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![String::schema(definitions), Vec::<Part>::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// The arguments of a call: JSON text, or the value that it stands for.
mod arguments {
    use super::*;

    pub(super) fn read<N: ValueNode>(node: N, _: &Place<'_>, _: &mut Reader) -> Option<String> {
        Some(node.text().map_or_else(|| compact(&node.to_value()), str::to_owned))
    }

    pub(super) fn write(arguments: &str) -> Value {
        arguments.into()
    }

    pub(super) fn schema(definitions: &mut Definitions) -> Value {
        Value::schema(definitions)
    }
}

/// Where the bytes of an image or a document are: the first of its keys decides, and no other may be beside it.
mod source {
    use super::*;

    #[derive(Debug, Shape)]
    #[shape(not_null)]
    struct Inline {
        media_type: String,
        data: String,
    }

    #[derive(Debug, Shape)]
    #[shape(not_null)]
    struct AtUrl {
        url: String,
    }

    #[derive(Debug, Shape)]
    #[shape(not_null)]
    struct Uploaded {
        /// The file's id at the provider.
        file: String,
    }

    #[derive(Debug, Shape)]
    #[shape(not_null)]
    struct PlainText {
        text: String,
    }

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<MediaSource> {
        let has = |key: &str| node.member(key).is_some();
        if has("data") {
            let Inline { media_type, data } = Inline::read(node, at, reader)?;
            Some(MediaSource::Base64 { media_type, data })
        } else if has("url") {
            AtUrl::read(node, at, reader).map(|source| MediaSource::Url(source.url))
        } else if has("file") {
            Uploaded::read(node, at, reader).map(|source| MediaSource::File(source.file))
        } else {
            PlainText::read(node, at, reader).map(|source| MediaSource::Text(source.text))
        }
    }

    pub(super) fn write(source: &MediaSource) -> Value {
        match source.clone() {
            MediaSource::Base64 { media_type, data } => Inline { media_type, data }.write(),
            MediaSource::Url(url) => AtUrl { url }.write(),
            MediaSource::File(file) => Uploaded { file }.write(),
            MediaSource::Text(text) => PlainText { text }.write(),
        }
    }

    pub(super) fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![
            Inline::schema(definitions),
            AtUrl::schema(definitions),
            Uploaded::schema(definitions),
            PlainText::schema(definitions),
        ];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}
