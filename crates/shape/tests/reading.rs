//! What is read, written and reported.

use proptest::prelude::*;
use stave_canon::{Value, pretty_insertion_utf8};
use stave_shape::{FaultKind, Shape, read, read_leniently};

use crate::sample::{Item, MESSAGES, Messages, Order, OrderKind, WHOLE, value};

#[test]
fn a_whole_document_is_read_and_written_as_it_was() {
    let document = value(WHOLE);
    let order: Order = read(&document).unwrap();
    assert_eq!(order.serial, u64::MAX);
    assert_eq!(order.items.len(), 3);
    assert_eq!(order.extra.len(), 1);
    assert_eq!(pretty_insertion_utf8(&order.write()), pretty_insertion_utf8(&document));
}

#[test]
fn absent_keys_have_their_defaults() {
    let order: Order = read(&value(r#"{"customer": "ada", "type": "on-account", "serial": 1}"#)).unwrap();
    assert_eq!((order.priority, order.items.len(), order.note), (5, 0, None));
}

#[test]
fn every_fault_is_reported_with_its_pointer() {
    let document = value(
        r#"{"customer": "Ada L", "type": "gift", "priority": 11, "serial": 1.0, "note": 3, "label": null,
        "items": [{"kind": "piece", "count": 0, "more": 1}, {"kind": "box"}, {"count": 1}, 4,
        {"kind": "bulk", "grams": "1"}], "shelves": {"a/b": -1, "c": 99999999999999999999}}"#,
    );
    let faults = read::<Order>(&document).unwrap_err();
    insta::assert_snapshot!(faults.to_string().replace("; ", "\n"));
}

#[test]
fn what_can_be_read_is_kept_beside_the_faults() {
    let text = r#"{"customer": "ada", "type": "on-account", "serial": 1, "priority": 0, "note": 1,
        "items": [{"kind": "gift"}, 7]}"#;
    let (order, faults) = read_leniently::<Order>(&value(text));
    let order = order.unwrap();
    assert_eq!((order.priority, order.note, order.items), (5, None, vec![Item::Gift]));
    assert_eq!(faults.len(), 3);
}

#[test]
fn a_rule_of_the_type_is_checked_with_the_rest() {
    let faults = read::<Order>(&value(r#"{"customer": "ada", "type": "prepaid", "serial": 1}"#)).unwrap_err();
    assert!(matches!(faults.0[0].kind, FaultKind::Rule { rule: "empty-order", .. }), "{faults}");
    assert_eq!(faults.0[0].pointer.as_str(), "/items");
}

#[test]
fn words_are_read_by_name() {
    assert_eq!(OrderKind::ALL, [OrderKind::Prepaid, OrderKind::OnAccount]);
    assert_eq!(OrderKind::from_word("on-account"), Some(OrderKind::OnAccount));
    assert_eq!(OrderKind::Prepaid.word(), "prepaid");
}

#[test]
fn a_variant_may_hold_a_type_that_stands_for_several_words() {
    let document = value(MESSAGES);
    let messages: Messages = read(&document).unwrap();
    assert_eq!(pretty_insertion_utf8(&messages.write()), pretty_insertion_utf8(&document));
}

#[test]
fn marks_are_compared_and_a_message_without_a_tag_is_read_for_its_faults() {
    let document = value(
        r#"{"kind": "letters", "version": 1.0, "id": null, "messages": [{"about": "gift", "day": "x"},
        {"day": 1}, {"about": "delay"}, {"about": "payment", "cents": 1, "day": 1}]}"#,
    );
    let faults = read::<Messages>(&document).unwrap_err();
    insta::assert_snapshot!(faults.to_string().replace("; ", "\n"), @r#"
    /kind: must be "messages", not "letters"
    /version: must be 1, not 1.0
    /messages/0/about: must be "delivery", "delay" or "payment", not "gift"
    /messages/0/day: must be an integer, not a string
    /messages/1: `about` is missing
    /messages/2: `day` is missing
    /messages/3/day: `day` is not a key of this object
    "#);
}

#[test]
fn a_placeholder_is_no_default_of_the_schema() {
    let document = value(r#"{"kind": "messages", "version": 1, "messages": []}"#);
    assert_eq!(read::<Messages>(&document).unwrap().id, "");
    insta::assert_snapshot!(pretty_insertion_utf8(&stave_shape::document::<Messages>("urn:m", "Messages")));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3..12i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let keys = prop::sample::select(vec![
            "customer", "type", "priority", "serial", "note", "label", "items", "kind", "count", "grams", "x",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((keys, inner), 0..6).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #[test]
    fn a_value_is_read_or_has_a_fault(value in any_value()) {
        let (order, faults) = read_leniently::<Order>(&value);
        prop_assert!(order.is_some() || !faults.is_empty());
        let (items, faults) = read_leniently::<Vec<Item>>(&value);
        if let Some(items) = items.filter(|_| faults.is_empty()) {
            prop_assert_eq!(read::<Vec<Item>>(&items.write()).unwrap(), items);
        }
    }
}
