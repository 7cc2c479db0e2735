//! YAML for manifests: block style, keys in the order in which they were put in, texts quoted wherever a
//! reader could take them for something else.

use stave_canon::Value;

/// A whole document, ending in a line feed.
pub(super) fn document(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (index, (key, value)) in members.iter().enumerate() {
                // The first member of a list item is beside its dash.
                if index > 0 || !text.ends_with("- ") {
                    text.push_str(&" ".repeat(indent));
                }
                text.push_str(&scalar(key));
                text.push(':');
                nested(value, indent, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                text.push_str(&" ".repeat(indent));
                text.push_str("- ");
                if is_block(item) {
                    block(item, indent + 2, text);
                } else {
                    text.push_str(&inline(item));
                    text.push('\n');
                }
            }
        }
        other => {
            text.push_str(&inline(other));
            text.push('\n');
        }
    }
}

fn nested(value: &Value, indent: usize, text: &mut String) {
    if is_block(value) {
        text.push('\n');
        block(value, indent + 2, text);
    } else {
        text.push(' ');
        text.push_str(&inline(value));
        text.push('\n');
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text, plain where it can only be a text: letters, digits and a few marks, not beginning like a number
/// and no word that YAML knows. JSON's quoted form is YAML's too.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    let plain =
        text.chars().all(|next| next.is_ascii_alphanumeric() || matches!(next, '-' | '_' | '.' | '/'));
    let word = text.to_ascii_lowercase();
    let known = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"].contains(&word.as_str());
    if begins && plain && !known { text.to_owned() } else { Value::from(text).to_string() }
}
