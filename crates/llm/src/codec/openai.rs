//! What OpenAI's two interfaces share: data URLs, schema names, usage, strict schemas.

use stave_canon::{Object, Value};

use super::Note;
use super::answer::AnswerFault;
use super::fields::{Fields, merge, object, put};
use super::strict_schema::{StrictMode, strict_copy};
use crate::{FunctionTool, Media, MediaSource, Message, PartKind, Request, ResponseSchema, Tool, Usage};

/// The longest name of a schema that OpenAI accepts.
const LONGEST_NAME: usize = 64;

/// `data:<media type>;base64,<data>`, or the address as it is.
pub(super) fn media_url(source: &MediaSource) -> Option<String> {
    match source {
        MediaSource::Base64 { media_type, data } => Some(format!("data:{media_type};base64,{data}")),
        MediaSource::Url(url) => Some(url.clone()),
        MediaSource::File(_) | MediaSource::Text(_) => None,
    }
}

pub(super) fn parse_media_url(url: String) -> MediaSource {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media_type, data)) => {
            MediaSource::Base64 { media_type: media_type.to_owned(), data: data.to_owned() }
        }
        None => MediaSource::Url(url),
    }
}

/// Name, schema and strictness as they are sent.
pub(super) fn wire_schema(schema: &ResponseSchema, notes: &mut Vec<Note>) -> (String, Value, bool) {
    let name = wire_name(&schema.name);
    if name != schema.name {
        notes.push(Note::new("response_schema.name", format!("`{}` is sent as `{name}`", schema.name)));
    }
    if !schema.strict {
        return (name, schema.schema.clone(), false);
    }
    match strict_copy(&schema.schema, StrictMode::OpenAi) {
        Ok(copy) => (name, copy, true),
        Err(fault) => {
            notes.push(Note::new("response_schema.strict", format!("sent as not strict: {fault}")));
            (name, schema.schema.clone(), false)
        }
    }
}

fn wire_name(name: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name: String =
        name.chars().map(|letter| if allowed(letter) { letter } else { '_' }).take(LONGEST_NAME).collect();
    if name.is_empty() { "reply".to_owned() } else { name }
}

/// Takes token counts apart, in the words of either interface; the rest stays in `fields`.
///
/// A part of the input is never more than the input. Servers that count reasoning beside the output instead of in it
/// have it added, so that the output is all that the model wrote.
pub(super) fn usage(fields: &mut Fields) -> Usage {
    let mut first = |keys: [&str; 2]| keys.into_iter().find_map(|key| fields.tokens(key)).unwrap_or_default();
    let mut usage = Usage {
        input: first(["prompt_tokens", "input_tokens"]),
        output: first(["completion_tokens", "output_tokens"]),
        ..Usage::default()
    };
    for key in ["prompt_tokens_details", "input_tokens_details"] {
        if let Some(mut details) = fields.nested(key) {
            usage.cache_read = details.tokens("cached_tokens").unwrap_or_default().min(usage.input);
            let written = details.tokens("cache_write_tokens").unwrap_or_default();
            usage.cache_write = written.min(usage.input - usage.cache_read);
            fields.give_back(key, details);
        }
    }
    for key in ["completion_tokens_details", "output_tokens_details"] {
        if let Some(mut details) = fields.nested(key) {
            usage.reasoning = details.tokens("reasoning_tokens").unwrap_or_default();
            fields.give_back(key, details);
        }
    }
    let total =
        fields.peek("total_tokens").and_then(Value::as_i64).and_then(|total| u64::try_from(total).ok());
    let total = total.filter(|total| *total <= usage.total().saturating_add(usage.reasoning));
    usage.output =
        usage.output.max(usage.reasoning).max(total.unwrap_or_default().saturating_sub(usage.input));
    if total == Some(usage.total()) {
        fields.value("total_tokens");
    }
    usage
}

/// Whether the model belongs to a family that knows the newer name of the token limit only.
pub(super) fn is_reasoning_family(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let o_series =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    o_series || name.starts_with("gpt-5")
}

/// Says once per request which marks and flags this wire has no place for.
pub(super) fn note_what_is_left_out(request: &Request, notes: &mut Vec<Note>) {
    let parts = || request.messages.iter().flat_map(|message: &Message| &message.content);
    let tool_marked = |tool: &Tool| matches!(tool, Tool::Function(function) if function.cache.is_some());
    if parts().any(|part| part.cache.is_some()) || request.tools.iter().any(tool_marked) {
        notes.push(Note::new("cache", "cache marks are left out: this provider caches prefixes by itself"));
    }
    if parts().any(|part| matches!(&part.kind, PartKind::ToolResult(result) if result.is_error)) {
        notes.push(Note::new("is_error", "left out: the result's text must say that the tool failed"));
    }
}

/// A document as an uploaded file, inline data or text, in the fields that both interfaces share.
pub(super) fn file_fields(media: &Media) -> Option<Vec<(&'static str, Value)>> {
    let mut fields: Vec<(&'static str, Value)> = match &media.source {
        MediaSource::File(id) => vec![("file_id", id.as_str().into())],
        MediaSource::Base64 { .. } => vec![("file_data", media_url(&media.source)?.into())],
        MediaSource::Url(_) | MediaSource::Text(_) => return None,
    };
    if let Some(name) = &media.name {
        fields.push(("filename", name.as_str().into()));
    }
    Some(fields)
}

/// Reads what [`file_fields`] writes.
pub(super) fn file_media(fields: &mut Fields) -> Option<Media> {
    let source = match fields.string("file_id") {
        Some(id) => MediaSource::File(id),
        None => match parse_media_url(fields.string("file_data")?) {
            inline @ MediaSource::Base64 { .. } => inline,
            // Bare data without a media type goes back under its key.
            MediaSource::Url(data) => {
                fields.put("file_data", data);
                return None;
            }
            MediaSource::File(_) | MediaSource::Text(_) => return None,
        },
    };
    Some(Media { source, name: fields.string("filename") })
}

/// Token counts in the words of either interface; `whole` and `details` name input and output.
pub(super) fn usage_counts(usage: Usage, whole: [&str; 2], details: [&str; 2]) -> Value {
    let [input, output] = whole;
    let [input_details, output_details] = details;
    let mut read = object([("cached_tokens", usage.cache_read.into())]);
    put(&mut read, "cache_write_tokens", (usage.cache_write > 0).then_some(usage.cache_write));
    Value::Object(object([
        (input, usage.input.into()),
        (output, usage.output.into()),
        ("total_tokens", usage.total().into()),
        (input_details, read.into()),
        (output_details, object([("reasoning_tokens", usage.reasoning.into())]).into()),
    ]))
}

/// The body of an answer with an error status, the same for both interfaces.
pub(super) fn error_body(fault: &AnswerFault) -> Value {
    let kind = match fault.status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    let error = object([
        ("message", fault.message.as_str().into()),
        ("type", kind.into()),
        ("param", Value::Null),
        ("code", fault.code.as_deref().map_or(Value::Null, Value::from)),
    ]);
    Value::Object(object([("error", error.into())]))
}

/// A tool whose definition is under `function`, as chat completions and the servers after them have it.
pub(super) fn decode_nested_tool(tool: Value) -> Tool {
    let whole = tool.clone();
    let read = || {
        let mut fields = Fields::of(tool).ok()?;
        let mut function = fields.nested("function")?;
        fields.drop_if("type", "function");
        let mut read = FunctionTool {
            name: function.string("name")?,
            description: function.string("description"),
            parameters: function.value("parameters")?,
            strict: function.bool("strict"),
            cache: None,
            extra: Object::new(),
        };
        fields.give_back("function", function);
        read.extra = fields.rest();
        Some(Tool::Function(read))
    };
    read().unwrap_or(Tool::Provider(whole))
}

/// Writes what [`decode_nested_tool`] reads.
pub(super) fn encode_nested_tool(tool: &Tool) -> Value {
    let function = match tool {
        Tool::Provider(value) => return value.clone(),
        Tool::Function(function) => function,
    };
    let mut inner = object([("name", function.name.as_str().into())]);
    put(&mut inner, "description", function.description.as_deref());
    inner.insert("parameters".to_owned(), function.parameters.clone());
    put(&mut inner, "strict", function.strict);
    let mut out = object([("type", "function".into()), ("function", inner.into())]);
    merge(&mut out, &function.extra);
    Value::Object(out)
}
