//! A model's text as the value that the schema asks for.

use stave_canon::Value;
use stave_prompt::output;

use super::arguments::OutputSchema;

/// Reads and validates a reply; otherwise says what is wrong with it, in words that help the model.
pub(super) fn validate(text: &str, schema: &OutputSchema) -> Result<Value, String> {
    let value = parse(text)?;
    let violations = schema.validator.violations(&value);
    if violations.is_empty() { Ok(value) } else { Err(violations.join("; ")) }
}

/// The JSON in a reply: the whole of it, its only fenced block or its only object, mended where nothing is
/// lost by it.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    output::read(text).map(|accepted| accepted.value).map_err(|rejected| rejected.to_string())
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
        assert_eq!(parse("Sure: {\"a\": 1} as asked").as_ref(), Ok(&value));
        assert_eq!(parse("{\"a\": 1,").as_ref(), Ok(&value));
        assert!(parse("{\"a\": 1").is_err(), "the number may have been cut off");
        assert!(parse("it is 21").is_err());
        assert!(parse("```\n1\n``` or ```\n2\n```").is_err());
    }
}
