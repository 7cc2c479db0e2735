//! The condition of a `when`: a reference and the texts it may be equal to.

use super::tree::Scalar;
use crate::expression::literal;
use stave_canon::Value;

/// `REF in [..]`, `REF in (..)` or `REF == ".."`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// Where the value comes from, as the exec document says it: `$.inputs.…` or `$.vars.…`.
    pub(crate) key_from: String,
    pub(crate) cases: Vec<String>,
}

/// Reads a condition, or says what is wrong with it.
pub(crate) fn read(condition: &Scalar) -> Result<Condition, String> {
    let text = condition.text.trim();
    if let Some((reference, list)) = text.split_once(" in ") {
        let key_from = key_from(reference.trim())?;
        let Some(Value::Array(items)) = literal(list.trim()) else {
            return Err(format!("`{}` is not a list of texts in quotes", list.trim()));
        };
        let cases: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        let cases = cases.ok_or_else(|| "a case is not a text in quotes".to_owned())?;
        if cases.is_empty() {
            return Err("the list has no cases, so the steps below would never run".to_owned());
        }
        return Ok(Condition { key_from, cases });
    }
    if let Some((reference, value)) = text.split_once("==") {
        let key_from = key_from(reference.trim())?;
        return match literal(value.trim()) {
            Some(Value::String(case)) => Ok(Condition { key_from, cases: vec![case] }),
            _ => Err(format!("`{}` is not a text in quotes", value.trim())),
        };
    }
    Err(format!("`{text}` is not a comparison that `when` has"))
}

fn key_from(reference: &str) -> Result<String, String> {
    if let Some(path) = reference.strip_prefix("$input.") {
        return Ok(format!("$.inputs.{path}"));
    }
    if let Some(path) = reference.strip_prefix("$step.") {
        return Ok(format!("$.vars.{path}"));
    }
    Err(format!("`{reference}` is neither `$input.…` nor `$step.…`"))
}
