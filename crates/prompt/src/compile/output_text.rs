//! What a prompt says about its answer, for every provider: format, schema, fields, example, errors and length.

use std::borrow::Cow;

use stave_canon::{Value, pretty_insertion_ascii};

use super::Adapter;
use super::adapter::fence;
use crate::output::{OutputFormat, OutputRequirements};

/// The body of the output section.
pub(super) fn text(requirements: &OutputRequirements, adapter: Adapter) -> String {
    let OutputRequirements { format, required_fields, schema, max_tokens, example, .. } = requirements;
    let block = |value: &Value| block(value, adapter, *format);
    let mut paragraphs = vec![match (format, schema) {
        (OutputFormat::Json, Some(schema)) => {
            format!("Reply with JSON that fits this:\n\n{}", block(schema))
        }
        (OutputFormat::Json, None) => "Reply with JSON and with nothing else.".to_owned(),
        (OutputFormat::Markdown, _) => "Reply in Markdown.".to_owned(),
        (OutputFormat::Xml, _) => "Reply in XML and with nothing else.".to_owned(),
        (OutputFormat::Text, _) => "Reply in plain text, without markup.".to_owned(),
    }];
    if let Some(schema) = schema.as_ref().filter(|_| *format != OutputFormat::Json) {
        paragraphs.push(format!("The reply holds:\n\n{}", block(schema)));
    }
    if !required_fields.is_empty() {
        let what = match format {
            OutputFormat::Json => "Required fields",
            OutputFormat::Markdown => "Required sections, each under a heading with its name",
            OutputFormat::Xml => "Required elements",
            OutputFormat::Text => "Required content",
        };
        paragraphs.push(format!("{what}: {}", required_fields.join(", ")));
    }
    if let Some(example) = example {
        paragraphs.push(format!("Example:\n\n{}", block(example)));
    }
    if let Some(error) = requirements.effective_error_format() {
        paragraphs.push(format!("If you cannot do the task, reply with this instead:\n\n{}", block(&error)));
    }
    if let Some(most) = max_tokens {
        paragraphs.push(format!("Use at most {most} tokens."));
    }
    paragraphs.join("\n\n")
}

/// A value on lines of its own; Markdown has a fence around it. A text is shown as it is.
fn block(value: &Value, adapter: Adapter, format: OutputFormat) -> String {
    let (text, is_json) = match value.as_str().filter(|_| format != OutputFormat::Json) {
        Some(text) => (Cow::Borrowed(text), false),
        None => (pretty_insertion_ascii(value).into(), true),
    };
    match adapter {
        Adapter::OpenAi => {
            let fence = fence(&text);
            format!("{fence}{}\n{text}\n{fence}", if is_json { "json" } else { "" })
        }
        _ => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_required_is_said_to_every_provider() {
        for (format, said) in [
            ("json", "Reply with JSON"),
            ("markdown", "Reply in Markdown"),
            ("xml", "Reply in XML"),
            ("text", "Reply in plain text"),
        ] {
            let stated = format!(
                r#"{{"format": "{format}", "schema": {{"plan": "string"}}, "required_fields": ["plan", "risks"],
                    "example": "An example", "error_format": {{"refused": "why"}}, "max_tokens": 321}}"#
            );
            let stated = stave_canon::parse(&stated).unwrap();
            let requirements = OutputRequirements::of_prompt(stated.as_object().unwrap()).unwrap();
            for adapter in [Adapter::Plain, Adapter::Anthropic, Adapter::OpenAi, Adapter::Ollama] {
                let text = adapter.output(&requirements);
                for part in [said, "\"plan\": \"string\"", "plan, risks", "An example", "refused", "321"] {
                    assert!(text.contains(part), "{format} {adapter:?} {part}: {text}");
                }
                assert_eq!(text.contains("JSON"), format == "json", "{text}");
            }
        }
    }
}
