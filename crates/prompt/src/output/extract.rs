//! Finding the JSON in what a model said.

use std::ops::Range;

/// Where the JSON of a reply was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The whole reply is JSON.
    Whole,
    /// The reply's only fenced block.
    Fenced,
    /// The reply's only object or array, with words around it.
    Embedded,
}

/// The part of a reply that is meant as JSON, `None` when it is unclear which part that is.
#[must_use]
pub fn extract(reply: &str) -> Option<(Found, &str)> {
    let text = reply.trim();
    if text.starts_with(['{', '[', '"'])
        || (!text.contains('{') && !text.contains('[') && !text.contains("```"))
    {
        return Some((Found::Whole, text));
    }
    if text.contains("```") {
        return fenced(text).map(|body| (Found::Fenced, body));
    }
    embedded(text).and_then(|range| text.get(range)).map(|body| (Found::Embedded, body))
}

/// The body of the only fenced block; one that is never closed ends with the reply.
fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (_, body) = after.split_once('\n')?;
    match body.split_once("```") {
        None => Some(body.trim()),
        Some((body, rest)) if !rest.contains("```") => Some(body.trim()),
        Some(_) => None,
    }
}

/// The only object or array. One that is never closed ends with the reply.
fn embedded(text: &str) -> Option<Range<usize>> {
    let start = text.find(['{', '['])?;
    let rest = text.get(start..)?;
    let end = end_of(rest).map_or(text.len(), |length| start + length);
    let after = text.get(end..)?;
    (!after.contains(['{', '['])).then_some(start..end)
}

/// How long the object or array is that a text begins with; `None` when it is not closed.
fn end_of(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_reply_is_found() {
        for (reply, found, body) in [
            ("{\"a\": 1}", Found::Whole, "{\"a\": 1}"),
            (" 7 \n", Found::Whole, "7"),
            ("Here:\n```json\n{\"a\": 1}\n```\nDone.", Found::Fenced, "{\"a\": 1}"),
            ("```\n{\"a\": 1}```", Found::Fenced, "{\"a\": 1}"),
            ("```json\n{\"a\": [1,", Found::Fenced, "{\"a\": [1,"),
            ("Sure: {\"a\": \"}{\"} as asked", Found::Embedded, "{\"a\": \"}{\"}"),
            ("Sure: {\"a\": [1", Found::Embedded, "{\"a\": [1"),
        ] {
            assert_eq!(extract(reply), Some((found, body)), "{reply}");
        }
        for reply in ["```\n1\n``` or ```\n2\n```", "either {\"a\": 1} or {\"a\": 2}"] {
            assert_eq!(extract(reply), None, "{reply}");
        }
    }
}
