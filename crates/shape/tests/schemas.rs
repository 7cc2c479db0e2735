//! The schema says what the reader does.

use proptest::prelude::*;
use stave_canon::{Value, pretty_insertion_utf8};
use stave_shape::{document, read, settings};

use crate::sample::{Order, WHOLE, value};

#[test]
fn a_schema_holds_types_limits_defaults_and_descriptions() {
    insta::assert_snapshot!(pretty_insertion_utf8(&document::<Order>("urn:order", "Order")));
}

#[test]
fn settings_are_listed_with_type_and_default() {
    let lines: Vec<String> = settings(&document::<Order>("urn:order", "Order"))
        .iter()
        .map(|one| {
            let default = one.default.as_deref().unwrap_or("-");
            format!("{} | {} | {default} | {}", one.key, one.kind, one.description)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// A whole document with one value replaced.
fn changed() -> impl Strategy<Value = Value> {
    let places =
        ["customer", "type", "priority", "serial", "note", "label", "coupon", "items", "shelves", "later"];
    let values = [
        "null",
        "true",
        "0",
        "3",
        "11",
        "-1",
        "1.5",
        "18446744073709551616",
        "\"\"",
        "\" \"",
        "\"ada\"",
        "\"A b\"",
        "\"prepaid\"",
        "[]",
        "{}",
        "[{\"kind\": \"gift\"}]",
        "[{\"kind\": \"gift\", \"x\": 1}]",
        "[{\"kind\": \"piece\", \"count\": 0}]",
        "[{\"kind\": \"bulk\", \"grams\": 1}]",
        "{\"a\": 1}",
        "{\"a\": -1}",
    ];
    (prop::sample::select(places.to_vec()), prop::sample::select(values.to_vec())).prop_map(|(place, new)| {
        let mut document = value(WHOLE);
        if let Some(object) = document.as_object_mut() {
            object.insert(place.to_owned(), value(new));
        }
        document
    })
}

proptest! {
    #[test]
    fn schema_and_reader_agree(document in changed()) {
        let schema = stave_shape::document::<Order>("urn:order", "Order").to_serde();
        let by_schema = jsonschema::validator_for(&schema).unwrap().is_valid(&document.to_serde());
        let faults = read::<Order>(&document).err();
        // A rule between fields is beyond the schema.
        let is_beyond = faults.as_ref().is_some_and(|faults| faults.to_string().ends_with("has items"));
        prop_assert!(is_beyond || by_schema == faults.is_none(), "{by_schema} {faults:?}\n{document}");
    }
}
