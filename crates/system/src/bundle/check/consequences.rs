//! One finding per edit: where several rules report one edited place, the finding nearest to the edit stays.
//!
//! The bundle is compared with the one that its sources give. A finding at a place that is as the sources give it follows
//! from an edit elsewhere: a node whose id was changed also lacks its contract and its deployment row.
//!
//! Invariant: findings are never all removed, and each edit that had a finding keeps one.

use std::collections::BTreeSet;

use stave_canon::{Pointer, Value};

use super::{Issue, Issues};
use crate::bundle::Bundle;

/// A place at which a bundle is not as its sources give it.
struct Difference {
    pointer: Pointer,
    /// Whether items or members were added or removed, so that several findings can lie in it.
    has_other_items: bool,
}

pub(super) fn remove(issues: &mut Issues<'_>, made: &Bundle) {
    let mut differences = Vec::new();
    compare(issues.subject.bundle, made.value(), &Pointer::root(), &mut differences);
    let found = &issues.found;
    // Other writers may have their own form of a value, and no finding. A finding about the list around it is not its own.
    let place = |index: &usize| found.get(*index).map(|issue| issue.pointer.as_str()).unwrap_or_default();
    let mut wide: Vec<usize> = Vec::new();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for difference in &differences {
        for index in reported(found, difference) {
            let is_wide = is_below(difference.pointer.as_str(), place(&index));
            if is_wide {
                wide.push(index);
            } else {
                kept.insert(index);
            }
        }
    }
    wide.sort_by_key(|index| std::cmp::Reverse(place(index).len()));
    for index in wide {
        if !kept.iter().any(|other| is_below(place(other), place(&index))) {
            kept.insert(index);
        }
    }
    if !kept.is_empty() {
        let mut index = 0;
        issues.found.retain(|_| {
            index += 1;
            kept.contains(&(index - 1))
        });
    }
}

fn compare(found: &Value, made: &Value, pointer: &Pointer, differences: &mut Vec<Difference>) {
    let mut add =
        |has_other_items| differences.push(Difference { pointer: pointer.clone(), has_other_items });
    match (found, made) {
        (Value::Object(found), Value::Object(made)) => {
            let keys: BTreeSet<&str> = found.keys().chain(made.keys()).map(String::as_str).collect();
            for key in keys {
                match (found.get(key), made.get(key)) {
                    (Some(found), Some(made)) => compare(found, made, &pointer.key(key), differences),
                    _ => differences.push(Difference { pointer: pointer.key(key), has_other_items: false }),
                }
            }
        }
        (Value::Array(found), Value::Array(made)) if found.len() == made.len() => {
            for (index, (found, made)) in found.iter().zip(made).enumerate() {
                compare(found, made, &pointer.index(index), differences);
            }
        }
        (Value::Array(_), Value::Array(_)) => add(true),
        _ if found == made => {}
        _ => add(false),
    }
}

/// The findings that report a difference, by their indexes: the one nearest to it, or all within a changed list.
fn reported(found: &[Issue], difference: &Difference) -> Vec<usize> {
    let at = difference.pointer.as_str();
    let is_related = |issue: &Issue| {
        let place = issue.pointer.as_str();
        place == at || is_below(place, at) || is_below(at, place)
    };
    let related = || found.iter().enumerate().filter(|(_, issue)| is_related(issue));
    if difference.has_other_items {
        let within: Vec<usize> = related()
            .filter(|(_, issue)| issue.pointer.as_str().len() >= at.len())
            .map(|(index, _)| index)
            .collect();
        if !within.is_empty() {
            return within;
        }
    }
    // Of findings at one place the first stays.
    let nearest = related().rev().max_by_key(|(_, issue)| issue.pointer.as_str().len());
    nearest.map(|(index, _)| index).into_iter().collect()
}

/// Whether a pointer leads into the value at another.
fn is_below(place: &str, parent: &str) -> bool {
    place.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'))
}
