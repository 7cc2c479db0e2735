//! Documents with something changed in them, for properties that compare a schema with its reader.

use proptest::prelude::*;
use stave_canon::Value;

/// Values that fit somewhere, and values that hardly ever do.
const VALUES: [&str; 24] = [
    "null",
    "true",
    "0",
    "1",
    "-1",
    "7",
    "1.5",
    "2",
    "11",
    "99999999999999999999",
    "\"\"",
    "\" \"",
    "\"a\"",
    "\"1.0\"",
    "\"1.1\"",
    "\"2.0\"",
    "\"0000000000000000000000000000000000000000000000000000000000000000\"",
    "\"other\"",
    "[]",
    "[\"a\"]",
    "[\"\", 1]",
    "[{}]",
    "{}",
    "{\"a\": \"b\"}",
];

/// One of the documents, with one or two values replaced, removed or added.
pub(crate) fn changed(documents: Vec<Value>) -> impl Strategy<Value = Value> {
    let values = prop::sample::select(VALUES.to_vec());
    let change = (prop::collection::vec(0..16usize, 1..8), prop::option::of(values), any::<bool>());
    let changes = prop::collection::vec(change, 1..3);
    (prop::sample::select(documents), changes).prop_map(|(mut document, changes)| {
        for (path, new, adds) in changes {
            let new = new.map(|text| stave_canon::parse(text).unwrap_or_default());
            change_at(&mut document, &path, new, adds);
        }
        document
    })
}

/// Changes the value that `path` leads to, each number modulo what is there.
fn change_at(value: &mut Value, path: &[usize], new: Option<Value>, adds: bool) {
    match (path.split_first(), &mut *value) {
        (Some((step, rest)), Value::Object(object)) if !object.is_empty() => {
            let place = step % object.len();
            match new {
                None if rest.is_empty() => drop(object.shift_remove_index(place)),
                Some(new) if rest.is_empty() && adds => drop(object.insert("added".to_owned(), new)),
                new => {
                    let inner = object.get_index_mut(place);
                    inner.into_iter().for_each(|(_, inner)| change_at(inner, rest, new.clone(), adds));
                }
            }
        }
        (Some((step, rest)), Value::Array(items)) if !items.is_empty() => {
            let place = step % items.len();
            change_at(&mut items[place], rest, new, adds);
        }
        (_, value) => *value = new.unwrap_or_default(),
    }
}
