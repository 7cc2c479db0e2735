//! Request bodies with a marked secret at some place, whole or in parts, made from a stream of bytes.
//!
//! Every choice is drawn from the stream. A fuzz target and a test share this file.

#[path = "choices.rs"]
mod choices;

use std::cell::Cell;

pub(crate) use choices::Choices;
use stave_block::{DataScope, Destination, Gate, SensitivityPolicy, WirePrompt};
use stave_canon::{Look, Value, look};
use stave_lower::gate_body_until;

/// What a body hides. Every rule of the gate has the same way through it, so one secret stands for all.
pub(crate) const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// Member names, some of which mean something to a gateway.
const NAMES: &[&str] = &[
    "text",
    "content",
    "id",
    "type",
    "role",
    "name",
    "user",
    "metadata",
    "call_id",
    "tool_use_id",
    "model_",
    "detail",
    "input",
    "arguments",
    "data",
    "signature",
    "thinking",
    "encrypted_content",
    "prediction",
    "prompt",
    "variables",
    "Content",
    "TEXT",
    "media_type",
    "format",
    "cache_control",
    "ttl",
    "description",
    "x",
    "$ref",
    "\\u0078",
];

/// One body.
pub(crate) fn body(choices: &mut Choices<'_>) -> String {
    let mut messages: Vec<String> = Vec::new();
    for _ in 0..choices.byte() % 3 {
        messages.push(message(&string(choices, "harmless")));
    }
    let mut outside = String::new();
    match choices.byte() % 4 {
        0 => messages.push(message(&value(choices, 3))),
        1 => outside = format!(",{}", member(choices, 3)),
        2 => split(choices, &mut messages),
        _ => {
            let parts = part(choices);
            messages.push(message(&format!("[{parts}]")));
        }
    }
    for _ in 0..choices.byte() % 3 {
        messages.push(message(&string(choices, "more")));
    }
    format!(r#"{{"model":"m","messages":[{}]{outside}}}"#, messages.join(","))
}

fn message(content: &str) -> String {
    format!(r#"{{"role":"user","content":{content}}}"#)
}

/// The secret in two or three neighbouring parts or messages, with settings that a reader does not see between them.
fn split(choices: &mut Choices<'_>, messages: &mut Vec<String>) {
    let at = 1 + choices.byte() % (SECRET.len() - 1);
    let (first, rest) = SECRET.split_at(at);
    let mark =
        choices.of(&["", r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#, r#","citations":null"#]);
    let text = |piece: &str| format!(r#"{{"type":"text","text":"{piece}"{mark}}}"#);
    match choices.byte() % 4 {
        0 => messages.push(message(&format!("[{},{}]", text(first), text(rest)))),
        1 => {
            messages.push(message(&format!("\"{first}\"")));
            messages.push(message(&format!("\"{rest}\"")));
        }
        2 => {
            let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}"#;
            messages.push(message(&format!("[{},{image},{}]", text(first), text(rest))));
        }
        _ => {
            let (middle, end) = rest.split_at(rest.len() / 2);
            messages.push(message(&format!("[{},{},{}]", text(first), text(middle), text(end))));
        }
    }
}

/// A part whose own members must not be edited, with the secret in one of them.
fn part(choices: &mut Choices<'_>) -> String {
    let secret = string(choices, SECRET);
    match choices.byte() % 6 {
        0 => format!(r#"{{"type":"thinking","thinking":{secret},"signature":"abc"}}"#),
        1 => format!(r#"{{"type":"thinking","thinking":"x","signature":{secret}}}"#),
        2 => format!(r#"{{"type":"redacted_thinking","data":{secret}}}"#),
        3 => format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":{secret}}}}}"#
        ),
        4 => format!(r#"{{"type":"reasoning","encrypted_content":{secret}}}"#),
        _ => format!(r#"{{"type":"tool_use","id":"i","name":"f","input":{{{}}}}}"#, member(choices, 2)),
    }
}

/// A value that has the secret somewhere.
fn value(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth == 0 {
        return string(choices, SECRET);
    }
    match choices.byte() % 5 {
        0 => string(choices, SECRET),
        1 => format!("[{},{}]", string(choices, "a"), value(choices, depth - 1)),
        2 | 3 => format!("{{{}}}", member(choices, depth - 1)),
        _ => format!("[1.5,null,{{\"text\":{}}}]", value(choices, depth - 1)),
    }
}

/// A member whose key or value has the secret.
fn member(choices: &mut Choices<'_>, depth: usize) -> String {
    if choices.byte().is_multiple_of(5) {
        return format!("{}:{}", string(choices, SECRET), string(choices, "v"));
    }
    let name = choices.of(NAMES);
    format!("\"{name}\":{}", value(choices, depth))
}

/// Characters that a reader does not see between others.
const UNSEEN: &[&str] = &["", "", "", "\u{200b}", "\u{ad}", "\\u2060", "\u{fe0f}", "\u{202e}", "\u{301}"];

/// How often judging a body looks at the time: once for each rule and text, and again after so many matches.
pub(crate) fn steps(body: &str, wire: &WirePrompt) -> usize {
    let (policy, scope) = (SensitivityPolicy::default(), DataScope::new("a"));
    let gate = Gate::new(&policy, &scope, Destination::External);
    let steps = Cell::new(0);
    let is_late = || {
        steps.set(steps.get() + 1);
        false
    };
    let gated = gate_body_until(body, wire, 0, &policy, gate, &is_late);
    assert!(gated.is_ok_and(|gated| gated.splices.len() <= body.len()), "{body}");
    steps.get()
}

/// The most of that. A text takes two bytes at the least, and there are fewer than twenty rules in three views.
pub(crate) fn most_steps(body: &str) -> usize {
    64 * (body.len() + 16)
}

/// A JSON string, some of its characters escaped or spread out, with harmless text around it.
fn string(choices: &mut Choices<'_>, text: &str) -> String {
    let unseen = choices.of(UNSEEN);
    let around = choices.of(&["", " ", "key: ", "é", "\\n", "ключ", "(", "\\\""]);
    let escapes = choices.byte();
    let mut written = String::from("\"");
    written.push_str(around);
    for (index, letter) in text.chars().enumerate() {
        if escapes.is_multiple_of(3) && index % 5 == escapes % 5 {
            written.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            written.push(letter);
        }
        if index % 3 == 1 {
            written.push_str(unseen);
        }
    }
    written.push_str(choices.of(&["", " ", ".", "\\t", "é", ")"]));
    written.push('"');
    written
}

/// Whether a body says a word to its reader: in one text, or in texts that follow each other.
pub(crate) fn is_delivered(body: &Value, word: &str) -> bool {
    let (mut said, mut is_found) = (String::new(), false);
    read(body, "", word, &mut said, &mut is_found);
    is_found || seen(&said).contains(word)
}

/// A text without what a reader does not see.
fn seen(text: &str) -> String {
    text.chars().filter(|character| look(*character) != Look::Nothing).collect()
}

fn read(value: &Value, key: &str, word: &str, said: &mut String, is_found: &mut bool) {
    match value {
        Value::String(text) => {
            *is_found |= seen(text).contains(word);
            if matches!(key, "text" | "content") {
                said.push_str(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| read(item, key, word, said, is_found)),
        Value::Object(members) => {
            for (name, member) in members {
                *is_found |= seen(name).contains(word);
                read(member, name, word, said, is_found);
            }
        }
        _ => {}
    }
}
