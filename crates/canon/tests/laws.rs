//! Laws of reading and writing that hold for every value and every text.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use proptest::collection::vec;
use proptest::prelude::*;
use stave_canon::{
    Layout, MAX_DEPTH, Number, Object, Pointer, Value, locate, parse, parse_bytes, rfc8785, rfc8785_exact,
    sha256_hex, sha256_of, write,
};

const LOSSLESS: [Layout; 5] = [
    Layout::PYTHON_SPACED,
    Layout::COMPACT_UTF8,
    Layout::PRETTY_SORTED_UTF8,
    Layout::PRETTY_INSERTION_ASCII,
    Layout::MESSAGE,
];

const SORTED: [Layout; 4] =
    [Layout::PYTHON_SPACED, Layout::COMPACT_UTF8, Layout::PRETTY_SORTED_UTF8, Layout::RFC8785];

fn text(value: &Value, layout: &Layout) -> String {
    let mut text = String::new();
    write(value, layout, &mut text);
    text
}

fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::Int),
        any::<i128>().prop_map(Number::from),
        "-?[1-9][0-9]{0,60}".prop_map(|digits| Number::integer(&digits).unwrap()),
        any::<f64>()
            .prop_filter("JSON has finite numbers only", |float| float.is_finite())
            .prop_map(Number::Float),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any_number().prop_map(Value::Number),
        any::<String>().prop_map(Value::String),
    ];
    scalar.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value with the members of every object in the opposite order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Object(object) => {
            let members = object.iter().rev().map(|(key, value)| (key.clone(), reversed(value)));
            Value::Object(members.collect::<Object>())
        }
        scalar => scalar.clone(),
    }
}

/// Text that is nearly JSON: its tokens in any order, and any characters between them.
fn nearly_json() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        proptest::sample::select(vec![
            "[", "]", "{", "}", ",", ":", "\"", "\\", "\\u", "d800", "\\udc00", "null", "true", "-", "0",
            "1e", ".", "9", "NaN", "Infinity", " ", "\n", "\u{feff}",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
        any_value().prop_map(|value| text(&value, &Layout::MESSAGE)),
    ];
    vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

fn every_pointer(value: &Value, here: &Pointer, visit: &mut impl FnMut(&Pointer, &Value)) {
    visit(here, value);
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                every_pointer(item, &here.index(index), visit);
            }
        }
        Value::Object(object) => {
            for (key, member) in object {
                every_pointer(member, &here.key(key), visit);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(value in any_value()) {
        for layout in &LOSSLESS {
            let read = parse(&text(&value, layout)).unwrap();
            prop_assert_eq!(&read, &value);
        }
    }

    #[test]
    fn writing_what_was_read_changes_nothing(value in any_value()) {
        for layout in LOSSLESS.iter().chain([&Layout::RFC8785]) {
            let once = text(&value, layout);
            prop_assert_eq!(text(&parse(&once).unwrap(), layout), once);
        }
    }

    #[test]
    fn sorted_layouts_do_not_see_the_order_of_keys(value in any_value()) {
        let other = reversed(&value);
        prop_assert_eq!(&other, &value);
        for layout in &SORTED {
            prop_assert_eq!(text(&other, layout), text(&value, layout));
        }
    }

    #[test]
    fn a_hash_is_the_hash_of_the_text(value in any_value()) {
        for layout in LOSSLESS.iter().chain(&SORTED) {
            prop_assert_eq!(sha256_of(&value, layout), sha256_hex(text(&value, layout)));
        }
    }

    #[test]
    fn exact_rfc_8785_agrees_with_the_plain_one_or_refuses(value in any_value()) {
        if let Ok(exact) = rfc8785_exact(&value) {
            prop_assert_eq!(exact, rfc8785(&value));
        }
    }

    #[test]
    fn every_pointer_of_a_value_finds_it_in_its_text(value in any_value()) {
        for layout in &LOSSLESS {
            let text = text(&value, layout);
            every_pointer(&value, &Pointer::root(), &mut |pointer, found| {
                assert_eq!(value.pointer(pointer.as_str()), Some(found));
                let range = locate(&text, pointer.as_str()).unwrap();
                assert_eq!(parse(&text[range]).as_ref(), Ok(found));
            });
        }
    }

    #[test]
    fn numbers_of_any_kind_compare_the_same_both_ways(left in any_number(), right in any_number()) {
        let order = left.compare(&right).unwrap();
        prop_assert_eq!(right.compare(&left).unwrap(), order.reverse());
        if let (Number::Float(left), Number::Float(right)) = (&left, &right) {
            prop_assert_eq!(left.partial_cmp(right), Some(order));
        }
    }

    #[test]
    fn reading_never_panics_and_points_into_the_text(text in nearly_json()) {
        if let Err(error) = parse(&text) {
            prop_assert!(text.is_char_boundary(error.offset), "{}", error);
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }

    #[test]
    fn finding_a_place_never_panics(text in nearly_json(), pointer in "(/[a~01\\-]{0,3}){0,4}|[a/~]{0,5}") {
        if let Some(range) = locate(&text, &pointer) {
            prop_assert!(text.get(range).is_some());
        }
    }

    #[test]
    fn reading_bytes_never_panics(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(value) = parse_bytes(&bytes) {
            prop_assert!(value.depth() <= MAX_DEPTH);
        }
    }
}
