//! Texts that are Python literals.

use ruff_python_ast::{Expr, Number as PythonNumber, UnaryOp};
use stave_canon::{Number, Object, Value};

use super::parse;

/// The value of a text that is a literal: a number, a text in quotes, `True`, `False`, `None`, or a list,
/// tuple or mapping of those. `None` for anything else.
#[must_use]
pub fn literal(text: &str) -> Option<Value> {
    // Most texts are names or words; only those that begin like a literal are worth parsing.
    let text = text.trim_start_matches([' ', '\t']);
    let first = text.chars().next()?;
    let begins = first.is_ascii_digit()
        || matches!(
            first,
            '"' | '\'' | '[' | '(' | '{' | '-' | '+' | '.' | 'T' | 'F' | 'N' | 'r' | 'R' | 'u' | 'U'
        );
    if !begins {
        return None;
    }
    value(&parse::expression(text).ok()?)
}

fn value(tree: &Expr) -> Option<Value> {
    match tree {
        Expr::NoneLiteral(_) => Some(Value::Null),
        Expr::BooleanLiteral(boolean) => Some(boolean.value.into()),
        Expr::StringLiteral(text) => Some(text.value.to_str().into()),
        Expr::NumberLiteral(literal) => number(&literal.value).map(Value::Number),
        Expr::UnaryOp(operation) => match (operation.op, value(&operation.operand)?) {
            (UnaryOp::UAdd, value @ Value::Number(_)) => Some(value),
            (UnaryOp::USub, Value::Number(number)) => negative(&number).map(Value::Number),
            _ => None,
        },
        Expr::List(list) => list.elts.iter().map(value).collect::<Option<_>>().map(Value::Array),
        Expr::Tuple(tuple) => tuple.elts.iter().map(value).collect::<Option<_>>().map(Value::Array),
        Expr::Dict(dict) => {
            let mut object = Object::new();
            for item in &dict.items {
                let Value::String(key) = value(item.key.as_ref()?)? else { return None };
                object.insert(key, value(&item.value)?);
            }
            Some(Value::Object(object))
        }
        _ => None,
    }
}

/// A Python number as JSON has it. Complex numbers have no such form.
pub(super) fn number(number: &PythonNumber) -> Option<Number> {
    match number {
        PythonNumber::Int(integer) => match integer.as_i64() {
            Some(integer) => Some(Number::Int(integer)),
            None => Number::integer(&integer.to_string()),
        },
        PythonNumber::Float(float) => Some(Number::Float(*float)),
        PythonNumber::Complex { .. } => None,
    }
}

/// The number with the other sign.
pub(super) fn negative(number: &Number) -> Option<Number> {
    match number {
        Number::Int(integer) => match integer.checked_neg() {
            Some(integer) => Some(Number::Int(integer)),
            None => Number::integer(integer.to_string().trim_start_matches('-')),
        },
        Number::Float(float) => Some(Number::Float(-float)),
        Number::Big(digits) => match digits.strip_prefix('-') {
            Some(digits) => Number::integer(digits),
            None => Number::integer(&format!("-{digits}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_values_and_words_are_not() {
        for (text, wanted) in [
            ("75.0", Some("75.0")),
            ("0x10", Some("16")),
            ("-3", Some("-3")),
            ("True", Some("true")),
            ("None", Some("null")),
            ("[1, 'a']", Some(r#"[1,"a"]"#)),
            ("(1, 2)", Some("[1,2]")),
            ("{'a': [1]}", Some(r#"{"a":[1]}"#)),
            ("123456789012345678901234567890", Some("123456789012345678901234567890")),
            ("true", None),
            ("WRITE", None),
            ("hello world", None),
            ("1 + 1", None),
            ("Nope", None),
            ("{1: 2}", None),
            ("", None),
        ] {
            let found = literal(text).map(|value| stave_canon::compact_utf8(&value));
            assert_eq!(found.as_deref(), wanted, "{text}");
        }
    }
}
