//! The neutral model as JSON: what recordings, journals and hashes hold.
//!
//! Reading is strict, since people write this form by hand: a misspelt field is an error that names it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stave_canon::{Object, Value};

use super::fields::{Fields, compact, object, put};
use crate::{
    CacheMark, CacheTtl, ErrorKind, FunctionTool, Media, Message, Part, PartKind, Request, Response,
    ResponseSchema, Role, Source, StopReason, Thinking, Tool, ToolChoice, ToolResult, ToolUse, Usage,
};

impl Request {
    /// The request as JSON. Fields at their default are left out.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        put(&mut out, "model", (!self.model.is_empty()).then_some(self.model.as_str()));
        out.insert(
            "messages".to_owned(),
            self.messages.iter().map(message_to_value).collect::<Vec<_>>().into(),
        );
        if !self.tools.is_empty() {
            out.insert("tools".to_owned(), self.tools.iter().map(tool_to_value).collect::<Vec<_>>().into());
        }
        put(&mut out, "tool_choice", self.tool_choice.as_ref().map(tool_choice_to_value));
        put(&mut out, "parallel_tool_calls", self.parallel_tool_calls);
        put(&mut out, "response_schema", self.response_schema.as_ref().map(response_schema_to_value));
        put(&mut out, "temperature", self.temperature);
        put(&mut out, "max_tokens", self.max_tokens);
        put(&mut out, "top_p", self.top_p);
        put(&mut out, "stop", (!self.stop.is_empty()).then(|| self.stop.clone()));
        put(&mut out, "seed", self.seed);
        put(&mut out, "stream", self.stream.then_some(true));
        put_object(&mut out, "metadata", &self.metadata);
        put_object(&mut out, "extra", &self.extra);
        Value::Object(out)
    }

    /// Reads what [`Request::to_value`] writes.
    pub fn from_value(value: Value) -> Result<Self, ErrorKind> {
        let mut fields = Fields::required(value, "a request")?;
        let request = Request {
            model: fields.string("model").unwrap_or_default(),
            messages: each(fields.array("messages").unwrap_or_default(), message_from_value)?,
            tools: each(fields.array("tools").unwrap_or_default(), tool_from_value)?,
            tool_choice: fields.value("tool_choice").map(tool_choice_from_value).transpose()?,
            parallel_tool_calls: fields.bool("parallel_tool_calls"),
            response_schema: fields.value("response_schema").map(response_schema_from_value).transpose()?,
            temperature: fields.f64("temperature"),
            max_tokens: fields.u64("max_tokens"),
            top_p: fields.f64("top_p"),
            stop: fields.strings("stop").unwrap_or_default(),
            seed: fields.i64("seed"),
            stream: fields.bool("stream").unwrap_or_default(),
            metadata: fields.object("metadata").unwrap_or_default(),
            extra: fields.object("extra").unwrap_or_default(),
        };
        nothing_left(fields, "a request")?;
        Ok(request)
    }
}

impl Response {
    /// The response as JSON. Fields at their default are left out.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        put(&mut out, "id", self.id.as_deref());
        put(&mut out, "model", self.model.as_deref());
        out.insert("content".to_owned(), content_to_value(&self.content));
        put(&mut out, "stop", self.stop.as_ref().map(StopReason::as_str));
        put(&mut out, "usage", self.usage.map(usage_to_value));
        put_object(&mut out, "extra", &self.extra);
        Value::Object(out)
    }

    /// Reads what [`Response::to_value`] writes, and two short forms for writing by hand: `json` in place of
    /// `content` for a reply that is JSON text, and `tool_calls` for calls by name and arguments.
    pub fn from_value(value: Value) -> Result<Self, ErrorKind> {
        let mut fields = Fields::required(value, "a response")?;
        let mut content = fields.value("content").map(content_from_value).transpose()?.unwrap_or_default();
        if let Some(json) = fields.value("json") {
            content.push(Part::text(compact(&json)));
        }
        let calls = fields.array("tool_calls").unwrap_or_default();
        let has_calls = !calls.is_empty();
        for (index, call) in calls.into_iter().enumerate() {
            let mut call = Fields::required(call, "a tool call")?;
            if call.peek("id").is_none() {
                call.put("id", format!("call_{index}"));
            }
            let part = Part::new(PartKind::ToolUse(tool_use_from(&mut call)?));
            nothing_left(call, "a tool call")?;
            content.push(part);
        }
        let stop = fields.string("stop").map(|word| StopReason::parse(&word));
        let response = Response {
            id: fields.string("id"),
            model: fields.string("model"),
            content,
            stop: stop.or_else(|| has_calls.then_some(StopReason::ToolUse)),
            usage: fields.value("usage").map(usage_from_value).transpose()?,
            extra: fields.object("extra").unwrap_or_default(),
        };
        nothing_left(fields, "a response")?;
        Ok(response)
    }
}

fn message_to_value(message: &Message) -> Value {
    let mut out = object([("role", message.role.as_str().into())]);
    put(&mut out, "name", message.name.as_deref());
    out.insert("content".to_owned(), content_to_value(&message.content));
    put_object(&mut out, "extra", &message.extra);
    Value::Object(out)
}

fn message_from_value(value: Value) -> Result<Message, ErrorKind> {
    let mut fields = Fields::required(value, "a message")?;
    let word = fields.string("role").unwrap_or_default();
    let role = Role::parse(&word).ok_or_else(|| {
        decode(format!(
            "the role of a message must be system, developer, user, assistant or tool, not `{word}`"
        ))
    })?;
    let message = Message {
        role,
        content: fields.value("content").map(content_from_value).transpose()?.unwrap_or_default(),
        name: fields.string("name"),
        extra: fields.object("extra").unwrap_or_default(),
    };
    nothing_left(fields, "a message")?;
    Ok(message)
}

/// One plain text is written as a string, since that is what people read and write most.
fn content_to_value(content: &[Part]) -> Value {
    match content {
        [part] if part.is_plain_text() => part.as_text().unwrap_or_default().into(),
        parts => parts.iter().map(part_to_value).collect::<Vec<_>>().into(),
    }
}

fn content_from_value(value: Value) -> Result<Vec<Part>, ErrorKind> {
    match value {
        Value::String(text) => Ok(vec![Part::text(text)]),
        Value::Array(parts) => each(parts, part_from_value),
        other => Err(decode(format!("content must be a text or a list of parts, not {}", other.kind()))),
    }
}

fn part_to_value(part: &Part) -> Value {
    let mut out = match &part.kind {
        PartKind::Text(text) => object([("type", "text".into()), ("text", text.as_str().into())]),
        PartKind::Image(media) => media_to_object("image", media),
        PartKind::Document(media) => media_to_object("document", media),
        PartKind::ToolUse(call) => object([
            ("type", "tool_use".into()),
            ("id", call.id.as_str().into()),
            ("name", call.name.as_str().into()),
            ("arguments", call.arguments.as_str().into()),
        ]),
        PartKind::ToolResult(result) => {
            let mut out = object([
                ("type", "tool_result".into()),
                ("id", result.id.as_str().into()),
                ("content", content_to_value(&result.content)),
            ]);
            put(&mut out, "is_error", result.is_error.then_some(true));
            out
        }
        PartKind::Thinking(thinking) => {
            let mut out = object([("type", "thinking".into()), ("text", thinking.text.as_str().into())]);
            put(&mut out, "signature", thinking.signature.as_deref());
            put(&mut out, "redacted", thinking.redacted.as_deref());
            out
        }
        PartKind::Other(value) => object([("type", "other".into()), ("value", value.clone())]),
    };
    put(&mut out, "cache", part.cache.map(cache_word));
    put_object(&mut out, "extra", &part.extra);
    Value::Object(out)
}

fn part_from_value(value: Value) -> Result<Part, ErrorKind> {
    let mut fields = Fields::required(value, "a part")?;
    let kind = match fields.string("type").unwrap_or_default().as_str() {
        "text" => PartKind::Text(needed(fields.string("text"), "text")?),
        "image" => PartKind::Image(media_from(&mut fields)?),
        "document" => PartKind::Document(media_from(&mut fields)?),
        "tool_use" => PartKind::ToolUse(tool_use_from(&mut fields)?),
        "tool_result" => PartKind::ToolResult(ToolResult {
            id: needed(fields.string("id"), "id")?,
            content: fields.value("content").map(content_from_value).transpose()?.unwrap_or_default(),
            is_error: fields.bool("is_error").unwrap_or_default(),
        }),
        "thinking" => PartKind::Thinking(Thinking {
            text: fields.string("text").unwrap_or_default(),
            signature: fields.string("signature"),
            redacted: fields.string("redacted"),
        }),
        "other" => PartKind::Other(needed(fields.value("value"), "value")?),
        word => return Err(decode(format!("unknown type of part `{word}`"))),
    };
    let part =
        Part { kind, cache: cache_from(&mut fields), extra: fields.object("extra").unwrap_or_default() };
    nothing_left(fields, "a part")?;
    Ok(part)
}

fn tool_use_from(fields: &mut Fields) -> Result<ToolUse, ErrorKind> {
    let arguments = match fields.value("arguments") {
        None => "{}".to_owned(),
        Some(Value::String(text)) => text,
        Some(value) => compact(&value),
    };
    Ok(ToolUse {
        id: needed(fields.string("id"), "id")?,
        name: needed(fields.string("name"), "name")?,
        arguments,
    })
}

fn media_to_object(kind: &str, media: &Media) -> Object {
    let source = match &media.source {
        Source::Base64 { media_type, data } => {
            object([("media_type", media_type.as_str().into()), ("data", data.as_str().into())])
        }
        Source::Url(url) => object([("url", url.as_str().into())]),
        Source::File(id) => object([("file", id.as_str().into())]),
        Source::Text(text) => object([("text", text.as_str().into())]),
    };
    let mut out = object([("type", kind.into()), ("source", source.into())]);
    put(&mut out, "name", media.name.as_deref());
    out
}

fn media_from(fields: &mut Fields) -> Result<Media, ErrorKind> {
    let mut source = needed(fields.nested("source"), "source")?;
    let place = if let Some(data) = source.string("data") {
        Source::Base64 { media_type: needed(source.string("media_type"), "media_type")?, data }
    } else if let Some(url) = source.string("url") {
        Source::Url(url)
    } else if let Some(file) = source.string("file") {
        Source::File(file)
    } else {
        Source::Text(needed(source.string("text"), "text")?)
    };
    nothing_left(source, "a source")?;
    Ok(Media { source: place, name: fields.string("name") })
}

fn tool_to_value(tool: &Tool) -> Value {
    match tool {
        Tool::Provider(value) => Value::Object(object([("provider", value.clone())])),
        Tool::Function(function) => {
            let mut out = object([("name", function.name.as_str().into())]);
            put(&mut out, "description", function.description.as_deref());
            out.insert("parameters".to_owned(), function.parameters.clone());
            put(&mut out, "strict", function.strict);
            put(&mut out, "cache", function.cache.map(cache_word));
            put_object(&mut out, "extra", &function.extra);
            Value::Object(out)
        }
    }
}

fn tool_from_value(value: Value) -> Result<Tool, ErrorKind> {
    let mut fields = Fields::required(value, "a tool")?;
    if let Some(provider) = fields.value("provider") {
        nothing_left(fields, "a provider's tool")?;
        return Ok(Tool::Provider(provider));
    }
    let tool = FunctionTool {
        name: needed(fields.string("name"), "name")?,
        description: fields.string("description"),
        parameters: fields.value("parameters").unwrap_or_else(|| Value::Object(Object::new())),
        strict: fields.bool("strict"),
        cache: cache_from(&mut fields),
        extra: fields.object("extra").unwrap_or_default(),
    };
    nothing_left(fields, "a tool")?;
    Ok(Tool::Function(tool))
}

fn tool_choice_to_value(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => Value::Object(object([("tool", name.as_str().into())])),
        ToolChoice::Other(value) => Value::Object(object([("other", value.clone())])),
    }
}

fn tool_choice_from_value(value: Value) -> Result<ToolChoice, ErrorKind> {
    match value.as_str() {
        Some("auto") => return Ok(ToolChoice::Auto),
        Some("none") => return Ok(ToolChoice::None),
        Some("required") => return Ok(ToolChoice::Required),
        _ => {}
    }
    let mut fields = Fields::required(value, "a tool choice other than auto, none and required")?;
    let choice = match fields.string("tool") {
        Some(name) => ToolChoice::Tool(name),
        None => ToolChoice::Other(needed(fields.value("other"), "tool")?),
    };
    nothing_left(fields, "a tool choice")?;
    Ok(choice)
}

fn response_schema_to_value(schema: &ResponseSchema) -> Value {
    Value::Object(object([
        ("name", schema.name.as_str().into()),
        ("schema", schema.schema.clone()),
        ("strict", schema.strict.into()),
    ]))
}

fn response_schema_from_value(value: Value) -> Result<ResponseSchema, ErrorKind> {
    let mut fields = Fields::required(value, "a response schema")?;
    let schema = ResponseSchema {
        name: needed(fields.string("name"), "name")?,
        schema: needed(fields.value("schema"), "schema")?,
        strict: fields.bool("strict").unwrap_or_default(),
    };
    nothing_left(fields, "a response schema")?;
    Ok(schema)
}

fn usage_to_value(usage: Usage) -> Value {
    let mut out = object([("input", usage.input.into()), ("output", usage.output.into())]);
    for (key, tokens) in [
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
        ("cache_write_1h", usage.cache_write_1h),
        ("reasoning", usage.reasoning),
    ] {
        put(&mut out, key, (tokens > 0).then_some(tokens));
    }
    Value::Object(out)
}

fn usage_from_value(value: Value) -> Result<Usage, ErrorKind> {
    let mut fields = Fields::required(value, "usage")?;
    let mut tokens = |key: &str| fields.u64(key).unwrap_or_default();
    let usage = Usage {
        input: tokens("input"),
        output: tokens("output"),
        cache_read: tokens("cache_read"),
        cache_write: tokens("cache_write"),
        cache_write_1h: tokens("cache_write_1h"),
        reasoning: tokens("reasoning"),
    };
    nothing_left(fields, "usage")?;
    Ok(usage)
}

fn cache_word(mark: CacheMark) -> &'static str {
    mark.ttl.map_or("default", CacheTtl::as_str)
}

fn cache_from(fields: &mut Fields) -> Option<CacheMark> {
    let ttl = match fields.peek_str("cache")? {
        "default" => None,
        word => Some(CacheTtl::parse(word)?),
    };
    fields.value("cache");
    Some(CacheMark { ttl })
}

fn put_object(out: &mut Object, key: &str, value: &Object) {
    put(out, key, (!value.is_empty()).then(|| value.clone()));
}

fn each<T>(values: Vec<Value>, read: fn(Value) -> Result<T, ErrorKind>) -> Result<Vec<T>, ErrorKind> {
    values.into_iter().map(read).collect()
}

fn needed<T>(value: Option<T>, field: &str) -> Result<T, ErrorKind> {
    value.ok_or_else(|| decode(format!("the field `{field}` is missing or has the wrong type")))
}

fn nothing_left(fields: Fields, what: &str) -> Result<(), ErrorKind> {
    match fields.rest().keys().next() {
        None => Ok(()),
        Some(key) => Err(decode(format!("the field `{key}` of {what} is unknown or has the wrong type"))),
    }
}

fn decode(message: String) -> ErrorKind {
    ErrorKind::Decode(message)
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Request::from_value(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Response {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Response::from_value(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
