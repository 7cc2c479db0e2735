//! Laws of the canonical form that hold for every document, and of loading that hold for every text.

use proptest::prelude::*;
use proptest::sample::Index;
use stave_canon::{Object, Value};
use stave_system::verify::verify;
use stave_system::{SystemDocument, diff, workflow_order};

use crate::documents::document;

/// The same document with everything that is a set in the opposite order.
fn reversed(document: &SystemDocument) -> SystemDocument {
    let mut document = document.clone();
    document.nodes.reverse();
    for node in &mut document.nodes {
        node.depends_on.reverse();
        node.provenance.reverse();
        node.properties.reverse();
        if let Some(contract) = &mut node.contract {
            contract.triggers.reverse();
            if let Some(machine) = &mut contract.state_machine {
                machine.transitions.reverse();
            }
        }
    }
    document
}

/// `value` with the part at a random place replaced.
fn damaged(value: &Value, place: Index, with: &Value) -> Value {
    fn parts(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(parts).sum(),
            Value::Object(object) => object.values().map(parts).sum(),
            _ => 0,
        }
    }
    fn replace(value: &mut Value, left: &mut usize, with: &Value) {
        if *left == 0 {
            *value = with.clone();
        }
        *left = left.wrapping_sub(1);
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| replace(item, left, with)),
            Value::Object(object) => object.values_mut().for_each(|member| replace(member, left, with)),
            _ => {}
        }
    }
    let mut copy = value.clone();
    replace(&mut copy, &mut place.index(parts(value)), with);
    copy
}

proptest! {
    #[test]
    fn a_saved_document_loads_again_with_the_same_fingerprint(document in document()) {
        let loaded = SystemDocument::from_text(&document.to_file_text()).unwrap();
        prop_assert_eq!(loaded.fingerprint(), document.fingerprint());
        prop_assert_eq!(loaded.to_file_text(), document.to_file_text());
        prop_assert_eq!(document.checked().unwrap(), loaded);
    }

    #[test]
    fn the_order_of_what_is_a_set_does_not_show(document in document()) {
        let other = reversed(&document);
        prop_assert_eq!(other.to_file_text(), document.to_file_text());
        prop_assert_eq!(other.fingerprint(), document.fingerprint());
        let order = |document: &SystemDocument| -> Vec<String> {
            workflow_order(document).into_iter().map(|node| node.id.clone()).collect()
        };
        prop_assert_eq!(order(&other), order(&document));
        prop_assert_eq!(diff(&document, &other).unwrap(), stave_system::NodeChanges::default());
    }

    #[test]
    fn a_difference_undoes_itself(before in document(), after in document()) {
        let (there, back) = (diff(&before, &after).unwrap(), diff(&after, &before).unwrap());
        prop_assert_eq!(there.added, back.removed);
        prop_assert_eq!(there.removed, back.added);
        prop_assert_eq!(there.changed, back.changed);
    }

    #[test]
    fn a_damaged_document_is_loaded_or_refused_with_places_but_never_panics(
        document in document(),
        place in any::<Index>(),
        with in prop_oneof![
            Just(Value::Null), Just(Value::from("")), Just(Value::from(1)), Just(Value::from(-0.5)),
            Just(Value::from(true)), Just(Value::Array(vec![])), Just(Value::Object(Object::new())),
        ],
    ) {
        let value = damaged(&document.to_value(), place, &with);
        match SystemDocument::from_value(&value) {
            Ok(document) => {
                for finding in verify(&document) {
                    prop_assert!(value.pointer(finding.pointer.as_str()).is_some(), "{:?}", finding);
                }
                prop_assert_eq!(document.checked().unwrap().fingerprint(), document.fingerprint());
            }
            Err(error) => {
                prop_assert!(!error.faults().is_empty());
                for fault in error.faults() {
                    prop_assert!(value.pointer(fault.pointer.as_str()).is_some(), "{}", fault);
                }
            }
        }
    }

    #[test]
    fn loading_any_text_never_panics(text in any::<String>()) {
        if let Ok(document) = SystemDocument::from_text(&text) {
            prop_assert_eq!(document.checked().unwrap().fingerprint(), document.fingerprint());
        }
    }
}
