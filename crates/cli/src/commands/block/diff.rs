//! `stave block diff`: which blocks of a request are new, gone, changed or moved.
//!
//! Blocks are the same when they have the same span id. A named block, such as a tool, keeps its id when its content changes.

use std::collections::BTreeMap;

use stave_block::{BlockIr, PromptBlock};
use stave_canon::Value;

use super::arguments::BlockDiff;
use super::input;
use crate::exit::{Exit, Stop};
use crate::terminal;

/// One difference of two requests.
struct BlockChange<'b> {
    what: &'static str,
    block: &'b PromptBlock,
    /// Its place in the earlier request, when it was there.
    before: Option<u32>,
}

pub(super) fn diff(arguments: &BlockDiff) -> Result<Exit, Stop> {
    let read = |path| match arguments.body {
        true => input::body(path, &arguments.reading),
        false => input::document(path),
    };
    let (before, after) = (read(&arguments.before)?, read(&arguments.after)?);
    let changes = compare(&before, &after);
    let first = first_difference(&before, &after);
    if arguments.reading.json {
        terminal::out(&value(&changes, first).to_string());
    } else {
        for change in &changes {
            terminal::out(&line(change));
        }
        match first {
            None => terminal::out("the requests have the same blocks"),
            Some(index) => terminal::out(&format!(
                "the first {index} blocks are the same; a provider's cache can keep no more than these"
            )),
        }
    }
    Ok(if first.is_none() { Exit::Fine } else { Exit::Failed })
}

/// How many blocks the two begin with in common; `None` when they are the same.
fn first_difference(before: &BlockIr, after: &BlockIr) -> Option<usize> {
    let is_same = |(old, new): &(&PromptBlock, &PromptBlock)| {
        old.span_id == new.span_id && old.content == new.content && old.role == new.role
    };
    let common = before.blocks.iter().zip(&after.blocks).take_while(is_same).count();
    (common < before.blocks.len() || common < after.blocks.len()).then_some(common)
}

fn compare<'b>(before: &'b BlockIr, after: &'b BlockIr) -> Vec<BlockChange<'b>> {
    let old: BTreeMap<&str, &PromptBlock> =
        before.blocks.iter().map(|block| (block.span_id.as_str(), block)).collect();
    let new: BTreeMap<&str, &PromptBlock> =
        after.blocks.iter().map(|block| (block.span_id.as_str(), block)).collect();
    // The order of what both have: a block is moved when another one stands at its place there.
    let kept = |blocks: &'b BlockIr, others: &BTreeMap<&str, &PromptBlock>| -> Vec<&'b str> {
        let ids = blocks.blocks.iter().map(|block| block.span_id.as_str());
        ids.filter(|id| others.contains_key(id)).collect()
    };
    let (old_order, new_order) = (kept(before, &new), kept(after, &old));
    let mut changes = Vec::new();
    for block in before.blocks.iter().filter(|block| !new.contains_key(block.span_id.as_str())) {
        changes.push(BlockChange { what: "removed", block, before: Some(block.sequence_index) });
    }
    for block in &after.blocks {
        let id = block.span_id.as_str();
        let Some(earlier) = old.get(id) else {
            changes.push(BlockChange { what: "added", block, before: None });
            continue;
        };
        let place = |order: &[&str]| order.iter().position(|other| *other == id);
        let before = Some(earlier.sequence_index);
        if earlier.content != block.content {
            changes.push(BlockChange { what: "changed", block, before });
        } else if place(&old_order) != place(&new_order) {
            changes.push(BlockChange { what: "moved", block, before });
        }
    }
    changes
}

fn line(change: &BlockChange<'_>) -> String {
    let BlockChange { what, block, before } = change;
    let (id, role, kind) = (&block.span_id, block.role.word(), block.content_type.word());
    match (*what, before) {
        ("removed", _) => format!("removed block {}: {id} ({role}, {kind})", block.sequence_index),
        (what, Some(before)) => {
            format!("{what} block {}, {before} before: {id} ({role}, {kind})", block.sequence_index)
        }
        (what, None) => format!("{what} block {}: {id} ({role}, {kind})", block.sequence_index),
    }
}

fn value(changes: &[BlockChange<'_>], first: Option<usize>) -> Value {
    let changes = changes.iter().map(|change| {
        let block = change.block;
        let after = (change.what != "removed").then(|| i64::from(block.sequence_index));
        Value::from_iter([
            ("change", Value::from(change.what)),
            ("span_id", block.span_id.as_str().into()),
            ("before", change.before.map(i64::from).into()),
            ("after", after.into()),
            ("role", block.role.word().into()),
            ("content_type", block.content_type.word().into()),
        ])
    });
    let changes: Vec<Value> = changes.collect();
    Value::from_iter([
        ("same", Value::from(first.is_none())),
        ("common_blocks", first.map(|first| first as i64).into()),
        ("changes", changes.into()),
    ])
}
