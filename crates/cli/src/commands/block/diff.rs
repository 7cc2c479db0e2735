//! `stave block diff`: which blocks of a request are new, gone, changed or moved.
//!
//! Blocks are the same when they have the same span id. A named block, such as a tool, keeps its id when its content changes.

use std::collections::BTreeMap;

use stave_block::{BlockIr, PromptBlock};
use stave_canon::Value;

use super::arguments::BlockDiff;
use super::input;
use super::stored::{self, StepRequest, StoredBlocks};
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
    let (before, after) = read(arguments)?;
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

/// The two requests: files, steps of runs, or records of the gateway.
fn read(arguments: &BlockDiff) -> Result<(StoredBlocks, StoredBlocks), Stop> {
    if let (Some(before), Some(after)) = (&arguments.before, &arguments.after) {
        let read = |path| match arguments.body {
            true => input::body(path, &arguments.reading),
            false => input::document(path),
        };
        return Ok((StoredBlocks::whole(read(before)?), StoredBlocks::whole(read(after)?)));
    }
    if let [before, after] = arguments.record.as_slice() {
        let read = |record| stored::of_record(record, &arguments.kept);
        return Ok((read(before)?, read(after)?));
    }
    let pair = |option: &str, count: usize| match count {
        1 | 2 => Ok(()),
        _ => Err(Stop::invalid(format!("give {option} once or twice, the earlier request first"))),
    };
    if !arguments.record.is_empty() {
        return Err(Stop::invalid("give --record twice, the earlier request first"));
    }
    pair("--run", arguments.run.len())?;
    pair("--step", arguments.step.len())?;
    if !arguments.request.is_empty() {
        pair("--request", arguments.request.len())?;
    }
    if arguments.run.len().max(arguments.step.len()).max(arguments.request.len()) < 2 {
        return Err(Stop::invalid("both requests are the same one")
            .help("give --run, --step or --request twice, the earlier request first"));
    }
    // What is given once holds for both.
    let read = |index: usize| {
        let of = |values: &[String]| values.get(index).or(values.first()).cloned().unwrap_or_default();
        let request = arguments.request.get(index).or(arguments.request.first()).copied();
        let (run, step) = (of(&arguments.run), of(&arguments.step));
        stored::of_run(&StepRequest { run: &run, step: &step, request }, &arguments.kept)
    };
    Ok((read(0)?, read(1)?))
}

/// How many blocks the two begin with in common; `None` when they are the same.
fn first_difference(before: &StoredBlocks, after: &StoredBlocks) -> Option<usize> {
    let old = before.blocks.blocks.iter().zip(&before.contents);
    let new = after.blocks.blocks.iter().zip(&after.contents);
    let common = old.zip(new).take_while(|((old, old_content), (new, new_content))| {
        old.span_id == new.span_id && old_content == new_content && old.role == new.role
    });
    let common = common.count();
    (common < before.blocks.blocks.len() || common < after.blocks.blocks.len()).then_some(common)
}

fn compare<'b>(before: &'b StoredBlocks, after: &'b StoredBlocks) -> Vec<BlockChange<'b>> {
    let content = |stored: &'b StoredBlocks, block: &PromptBlock| {
        stored.contents.get(block.sequence_index as usize).and_then(Option::as_deref)
    };
    let (before_blocks, after_blocks) = (before, after);
    let (before, after) = (&before.blocks, &after.blocks);
    let old: BTreeMap<&str, &PromptBlock> =
        before.blocks.iter().map(|block| (block.span_id.as_str(), block)).collect();
    let new: BTreeMap<&str, &PromptBlock> =
        after.blocks.iter().map(|block| (block.span_id.as_str(), block)).collect();
    // The order of what both have: a block is moved when another one is at its place there.
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
        if content(before_blocks, earlier) != content(after_blocks, block) {
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
