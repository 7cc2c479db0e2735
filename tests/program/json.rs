//! JSON as the conformance rows compare it.

use std::cmp::Ordering;

use stave_canon::Value;

/// Equality in which numbers count by value, so that `1` is `1.0`, and the order of keys does not count.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.compare(right) == Some(Ordering::Equal),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (left, right) => left == right,
    }
}

/// The member as a text, or nothing when it is absent or of another kind.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// The items of a list, none when it is absent.
pub(crate) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}

/// The values of a list that is written as text.
#[track_caller]
pub(crate) fn values(text: &str) -> Vec<Value> {
    stave_canon::parse(text).unwrap().as_array().unwrap().to_vec()
}

/// A whole number that is not negative.
pub(crate) fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok())
}

/// A value for a message: whole when it is short.
pub(crate) fn shown(value: &Value) -> String {
    const LONGEST: usize = 600;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}

#[test]
fn numbers_are_compared_by_value_and_booleans_are_no_numbers() {
    let parse = |text: &str| stave_canon::parse(text).unwrap();
    assert!(same(&parse(r#"{"a": 1, "b": [2.0]}"#), &parse(r#"{"b": [2], "a": 1.0}"#)));
    for (left, right) in
        [("1", "true"), ("1", "2"), ("[1]", "[1, 2]"), (r#"{"a": 1}"#, r#"{"b": 1}"#), ("null", "0")]
    {
        assert!(!same(&parse(left), &parse(right)), "{left} {right}");
        assert!(!same(&parse(right), &parse(left)), "{right} {left}");
    }
}
