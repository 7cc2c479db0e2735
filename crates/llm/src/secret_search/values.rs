//! Secrets in values: in texts, keys and numbers, and in the items of a list together.

use std::borrow::Cow;
use std::ops::Range;

use stave_canon::Value;

use super::{REPLACEMENT, SHORTEST, SecretSearch};

/// A text beyond this length is searched by itself and not together with its neighbours.
const LONGEST_ITEM: usize = 32;

/// Ends a row of items: no secret is found across it.
const END_OF_ROW: &str = "{}";

impl SecretSearch {
    /// Replaces secrets in every text, key and number of a value, and in items that are a secret together, such as the
    /// bytes of one.
    pub fn hide_in(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
            Value::Number(_) if self.is_in(value.to_string().as_bytes()) => *value = REPLACEMENT.into(),
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.hide_in(item));
                self.hide_in_row(items.iter_mut());
            }
            Value::Object(object) => {
                object.values_mut().for_each(|member| self.hide_in(member));
                self.hide_in_row(object.values_mut());
                if object.keys().any(|key| self.is_in(key.as_bytes())) {
                    let members = std::mem::take(object).into_iter();
                    *object = members.map(|(key, member)| (self.hide(&key).into_owned(), member)).collect();
                }
            }
            _ => {}
        }
    }

    /// Replaces neighbours that are a secret together.
    fn hide_in_row<'v>(&self, items: impl Iterator<Item = &'v mut Value>) {
        let (mut row, mut pieces) = (String::new(), Vec::<(Range<usize>, &mut Value)>::new());
        for item in items {
            let start = row.len();
            match item {
                Value::String(text) if text.len() <= LONGEST_ITEM => row.push_str(text),
                Value::Number(_) => row.push_str(&item.to_string()),
                _ => {
                    row.push_str(END_OF_ROW);
                    continue;
                }
            }
            pieces.push((start..row.len(), item));
            row.push(' ');
        }
        if pieces.len() < 2 || row.len() < SHORTEST {
            return;
        }
        let mut pieces = pieces.into_iter().peekable();
        for found in self.find(row.as_bytes()) {
            while pieces.next_if(|(place, _)| place.end <= found.start).is_some() {}
            while let Some((_, item)) = pieces.next_if(|(place, _)| place.start < found.end) {
                *item = REPLACEMENT.into();
            }
        }
    }
}
