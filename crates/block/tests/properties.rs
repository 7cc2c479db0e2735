//! Laws of the block line.

#![expect(clippy::unwrap_used, reason = "generated sections build, and what was built reads back")]

use std::collections::HashSet;

use proptest::prelude::*;
use stave_block::{
    BlockContentType, BlockIr, BlockSection, PromptRole, Provenance, Sensitivity, Tokenizer, ToolSchema,
    Wire, build, canonicalize_json, from_value, normalize_whitespace, to_value,
};
use stave_canon::{CountingIds, FixedClock, Timestamp, Value};

fn section() -> impl Strategy<Value = BlockSection> {
    (
        prop::sample::select(&PromptRole::ALL),
        "[ab \n]{0,4}|.{0,12}",
        prop::sample::select(&BlockContentType::ALL),
        prop::sample::select(&Provenance::ALL),
        prop::sample::select(&Sensitivity::ALL),
        prop::option::weighted(0.2, "[ab]{1,2}"),
    )
        .prop_map(|(role, content, content_type, provenance, sensitivity, name)| BlockSection {
            role,
            content,
            content_type,
            provenance,
            sensitivity,
            name,
        })
}

fn sections() -> impl Strategy<Value = Vec<BlockSection>> {
    prop::collection::vec(section(), 0..8)
}

fn built(sections: Vec<BlockSection>) -> BlockIr {
    let clock = FixedClock(Timestamp::from_microsecond(1_767_323_045_678_901).unwrap());
    let count = |text: &str| u32::try_from(text.len()).unwrap();
    let tools = [ToolSchema { name: "read".to_owned(), schema: Value::from("s") }];
    let wire = Wire {
        tools: Some(&tools),
        tokenizer: Some(Tokenizer { model_family: "claude", count: &count }),
        ..Wire::default()
    };
    build(sections, &wire, &CountingIds::new(), &clock).unwrap()
}

fn span_ids(ir: &BlockIr) -> Vec<String> {
    ir.blocks.iter().map(|block| block.span_id.to_string()).collect()
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 30, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..5).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #[test]
    fn reading_what_was_written_gives_the_same_blocks(sections in sections()) {
        let ir = built(sections);
        prop_assert_eq!(from_value(&to_value(&ir)).unwrap(), ir);
    }

    #[test]
    fn span_ids_are_unique_and_blocks_are_numbered(sections in sections()) {
        let ir = built(sections);
        let ids: HashSet<String> = span_ids(&ir).into_iter().collect();
        prop_assert_eq!(ids.len(), ir.blocks.len());
        for (index, block) in ir.blocks.iter().enumerate() {
            prop_assert_eq!(block.sequence_index as usize, index);
        }
    }

    #[test]
    fn inserting_a_block_renames_no_other(
        before in sections(), inserted in section(), at in any::<prop::sample::Index>()
    ) {
        let old: HashSet<String> = span_ids(&built(before.clone())).into_iter().collect();
        let mut after = before.clone();
        after.insert(at.index(before.len() + 1), inserted.clone());
        let new = span_ids(&built(after.clone()));
        let all: HashSet<String> = new.iter().cloned().collect();
        prop_assert!(all.is_superset(&old));
        // Where nothing equals the inserted block, every block keeps the very same id.
        let kept: Vec<String> = new
            .iter()
            .zip(&after)
            .enumerate()
            .filter(|(index, _)| *index != at.index(before.len() + 1))
            .map(|(_, (id, _))| id.clone())
            .collect();
        if !old.contains(&span_ids(&built(vec![inserted]))[0]) {
            prop_assert_eq!(kept, span_ids(&built(before)));
        }
    }

    #[test]
    fn reordering_keeps_the_set_of_ids(before in sections()) {
        let mut after = before.clone();
        after.reverse();
        let ids = |sections| span_ids(&built(sections)).into_iter().collect::<HashSet<_>>();
        prop_assert_eq!(ids(before), ids(after));
    }

    #[test]
    fn a_named_block_keeps_its_id_when_its_content_changes(mut section in section(), content in ".{0,9}") {
        section.name = Some("template".to_owned());
        let before = span_ids(&built(vec![section.clone()]));
        section.content = content;
        prop_assert_eq!(before, span_ids(&built(vec![section])));
    }

    #[test]
    fn normalising_twice_changes_nothing_more(text in "[ \t\r\n\u{a0}\u{2028}ab]{0,20}|.{0,30}") {
        let once = normalize_whitespace(&text);
        prop_assert_eq!(normalize_whitespace(&once), once.clone());
        prop_assert!(!once.contains("  "));
        prop_assert_eq!(once.matches('\n').count(), text.trim().matches('\n').count());
    }

    #[test]
    fn canonical_json_is_its_own_canonical_form(value in value()) {
        let once = canonicalize_json(&value.to_string());
        if let Ok(once) = once {
            prop_assert_eq!(canonicalize_json(&once), Ok(once.clone()));
        }
    }

    #[test]
    fn any_value_is_read_or_refused_with_a_reason(value in value()) {
        if let Err(error) = from_value(&value) {
            prop_assert!(!error.0.0.is_empty());
        }
    }

    #[test]
    fn any_value_in_any_place_is_read_or_refused_with_a_reason(
        sections in prop::collection::vec(section(), 1..3), key in 0..9_usize, value in value(),
        inside in any::<bool>(),
    ) {
        let mut wire = to_value(&built(sections));
        let target = if inside {
            match wire.as_object_mut().and_then(|object| object.get_mut("blocks")) {
                Some(Value::Array(blocks)) => blocks.first_mut(),
                _ => None,
            }
        } else {
            Some(&mut wire)
        };
        let object = target.and_then(Value::as_object_mut);
        if let Some(slot) = object.and_then(|object| object.get_index_mut(key)) {
            *slot.1 = value;
        }
        if let Err(error) = from_value(&wire) {
            prop_assert!(!error.0.0.is_empty());
        }
    }
}
