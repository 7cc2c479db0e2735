//! Rows of features as people and steps write them.

use std::collections::BTreeMap;

use stave_canon::{Object, Timestamp, Value};

/// One row: what was known of a key from a time on.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRow {
    pub key: Value,
    pub event_time: Timestamp,
    pub features: Object,
}

/// How the rows of a group are keyed and timed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureGroup {
    /// The columns of the primary key; empty when rows say their key under `key`.
    pub key: Vec<String>,
    /// The column with a row's time.
    pub event_time: Option<String>,
}

impl FeatureGroup {
    /// Reads a row. `event_time` is its time when it brings none.
    ///
    /// In a group without key columns a row has the members `key` and, if it likes, `event_time`; its features
    /// are its other members, or those of `features` when that is the only one.
    pub fn row(&self, mut members: Object, event_time: Option<Timestamp>) -> Result<FeatureRow, String> {
        let time = self.event_time.as_deref().unwrap_or("event_time");
        let own = match members.shift_remove(time) {
            Some(Value::String(text)) => {
                let parsed = text.parse::<Timestamp>();
                Some(parsed.map_err(|error| format!("`{time}` is not a timestamp: {error}"))?)
            }
            Some(Value::Null) | None => None,
            Some(other) => return Err(format!("`{time}` must be a timestamp, not {}", other.kind())),
        };
        let event_time = own.or(event_time).ok_or_else(|| format!("the row has no `{time}`"))?;
        if self.key.is_empty() {
            let key = members.shift_remove("key").ok_or("the row has no `key`")?;
            let features = match members.get("features") {
                Some(Value::Object(features)) if members.len() == 1 => features.clone(),
                _ => members,
            };
            return Ok(FeatureRow { key, event_time, features });
        }
        let column = |column: &String| match members.get(column) {
            Some(Value::Null) | None => Err(format!("the row has no `{column}`, which is part of the key")),
            Some(value) => Ok((column.clone(), value.clone())),
        };
        let key = self.key.iter().map(column).collect::<Result<Object, _>>()?;
        // Key columns stay among the features: people select them.
        Ok(FeatureRow { key: Value::Object(key), event_time, features: members })
    }
}

/// The text under which a key is found. A number and its text are one key, because files and requests
/// disagree about which it is; a key of one column is that column's value.
#[must_use]
pub fn key_text(key: &Value) -> String {
    match key {
        Value::String(text) => text.clone(),
        Value::Object(columns) if columns.len() == 1 => {
            columns.values().next().map(key_text).unwrap_or_default()
        }
        Value::Object(columns) => {
            let columns: BTreeMap<&String, Value> =
                columns.iter().map(|(name, value)| (name, key_text(value).into())).collect();
            let columns: Object = columns.into_iter().map(|(name, value)| (name.clone(), value)).collect();
            stave_canon::compact_utf8(&Value::Object(columns))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        match stave_canon::parse(text) {
            Ok(Value::Object(object)) => object,
            other => panic!("{other:?}"),
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_row_without_a_group_says_its_key_itself() {
        let group = FeatureGroup::default();
        let time = Some(at("2026-01-01T00:00:00Z"));
        let nested = group.row(object(r#"{"key":"c1","features":{"age":3}}"#), time).unwrap();
        let flat = group.row(object(r#"{"key":"c1","age":3}"#), time).unwrap();
        assert_eq!(nested, flat);
        assert_eq!(group.row(object(r#"{"age":3}"#), time), Err("the row has no `key`".to_owned()));
        assert_eq!(group.row(object(r#"{"key":1}"#), None), Err("the row has no `event_time`".to_owned()));
    }

    #[test]
    fn a_group_names_the_columns_of_key_and_time() {
        let group = FeatureGroup { key: vec!["id".to_owned()], event_time: Some("seen".to_owned()) };
        let row = group.row(object(r#"{"id":7,"seen":"2026-01-02T00:00:00Z","age":3}"#), None).unwrap();
        assert_eq!(key_text(&row.key), "7");
        assert_eq!(row.event_time, at("2026-01-02T00:00:00Z"));
        assert_eq!(row.features, object(r#"{"id":7,"age":3}"#));
        let fault = group.row(object(r#"{"seen":"2026-01-02T00:00:00Z"}"#), None).unwrap_err();
        assert_eq!(fault, "the row has no `id`, which is part of the key");
        assert!(group.row(object(r#"{"id":7,"seen":5}"#), None).unwrap_err().contains("must be a timestamp"));
    }

    #[test]
    fn a_number_and_its_text_are_one_key_and_columns_have_no_order() {
        assert_eq!(key_text(&Value::from(42)), key_text(&Value::from("42")));
        assert_eq!(key_text(&Value::Object(object(r#"{"id":42}"#))), "42");
        let one = key_text(&Value::Object(object(r#"{"a":1,"b":"x"}"#)));
        assert_eq!(one, key_text(&Value::Object(object(r#"{"b":"x","a":"1"}"#))));
    }
}
