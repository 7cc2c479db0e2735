//! A model's text as the value that the schema asks for.

use stave_canon::Value;

use super::arguments::OutputSchema;
use crate::port;

/// Reads and validates a reply; otherwise says what is wrong with it, in words that help the model.
pub(super) fn validate(text: &str, schema: &OutputSchema) -> Result<Value, String> {
    let value = parse(text)?;
    let violations = port::violations(&schema.validator, &value);
    if violations.is_empty() { Ok(value) } else { Err(violations.join("; ")) }
}

/// The JSON in a reply: the whole of it, or the only fenced block of it.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let body = fenced(text).unwrap_or(text);
    stave_canon::parse(body).map_err(|error| format!("the reply is not JSON: {error}"))
}

fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (_, body) = after.split_once('\n')?;
    let (body, rest) = body.split_once("```")?;
    if rest.contains("```") { None } else { Some(body.trim()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_alone_or_in_its_only_fence() {
        let value: Value = [("a", 1_i64)].into_iter().collect();
        for text in
            ["{\"a\": 1}", " {\"a\": 1}\n", "Here:\n```json\n{\"a\": 1}\n```\nDone.", "```\n{\"a\": 1}```"]
        {
            assert_eq!(parse(text).as_ref(), Ok(&value), "{text}");
        }
        assert!(parse("it is 21").is_err());
        assert!(parse("```\n1\n``` or ```\n2\n```").is_err());
    }
}
