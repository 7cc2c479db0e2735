//! Values written as YAML that shows long texts as blocks.
//!
//! Invariant: what is written reads back as the same value.

use stave_canon::{Object, Value};

/// The value as a block of YAML that starts in column 1.
pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => write_members(members, 0, false, &mut out),
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                write_item(item, 0, &mut out);
            }
        }
        scalar => {
            write_scalar(scalar, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

/// One item of a list whose dashes are at `indent`.
pub(super) fn write_item(value: &Value, indent: usize, out: &mut String) {
    pad(indent, out);
    out.push_str("- ");
    match value {
        Value::Object(members) if !members.is_empty() => write_members(members, indent + 2, true, out),
        // A list in a list begins on a line of its own.
        Value::Array(items) if !items.is_empty() => {
            out.pop();
            out.push('\n');
            for item in items {
                write_item(item, indent + 2, out);
            }
        }
        scalar => {
            write_scalar(scalar, indent + 2, out);
            out.push('\n');
        }
    }
}

fn write_members(members: &Object, indent: usize, first_is_placed: bool, out: &mut String) {
    for (number, (key, value)) in members.iter().enumerate() {
        if number > 0 || !first_is_placed {
            pad(indent, out);
        }
        write_text(key, out);
        out.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_members(inner, indent + 2, false, out);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                for item in items {
                    write_item(item, indent + 2, out);
                }
            }
            scalar => {
                out.push(' ');
                write_scalar(scalar, indent + 2, out);
                out.push('\n');
            }
        }
    }
}

fn write_scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if fits_a_block(text) => {
            out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
            for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                out.push('\n');
                if !line.is_empty() {
                    pad(indent, out);
                    out.push_str(line);
                }
            }
        }
        Value::String(text) => write_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

/// Whether a literal block keeps every character: the first one shows the indentation, at most one line end
/// closes it, and nothing needs an escape.
fn fits_a_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with("\n\n")
        && !text.chars().any(|letter| letter != '\n' && letter != '\t' && needs_escape(letter))
}

fn needs_escape(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn write_text(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if needs_escape(letter) => out.push_str(&format!("\\u{:04x}", letter as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// Whether a text can be written without quotes and still be a text to every reader of YAML.
fn is_plain(text: &str) -> bool {
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_alphanumeric() || "_ ./-,;!?'()+=%&*".contains(letter))
        && !text.ends_with(' ')
        && !reserved.iter().any(|word| word.eq_ignore_ascii_case(text))
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stave_diag::SourceId;

    use super::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            ".{0,12}",
            "[a-z \n]{0,20}",
            "\\PC{0,6}",
            Just("no".to_owned()),
            Just("1e3".to_owned()),
            Just("a: b # c".to_owned()),
            Just("x\n\n y\n".to_owned()),
            Just("\u{feff}\u{85}\u{2028}".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e300..1e300).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::vec((text.clone(), inner), 0..5)
                    .prop_map(|pairs| pairs.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

        #[test]
        fn what_is_written_reads_back(value in any_value()) {
            let text = write(&value);
            let read = stave_yaml::read(SourceId(0), &text);
            prop_assert!(read.diagnostics.is_empty(), "{:?} {}", read.diagnostics, text);
            prop_assert_eq!(read.root.map(|root| root.to_value()), Some(value), "{}", text);
        }
    }
}
