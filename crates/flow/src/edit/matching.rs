//! Which items of a list stay, which go and which come.

use stave_canon::Value;

/// One step from an old list to a new one, in the order of the new list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Keep { old: usize, new: usize },
    Remove { old: usize },
    Insert { new: usize },
}

/// Lists whose differing middle is longer than this are matched by place.
const LONGEST_TABLE: usize = 4_000_000;

/// The steps from one list to another. Equal items stay; between them an item that is named as before
/// (`name`, or the ends of an edge) is kept and changed.
pub(crate) fn steps(old: &[Value], new: &[Value]) -> Vec<Step> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let mut steps: Vec<Step> = (0..head).map(|index| Step::Keep { old: index, new: index }).collect();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let (mut at_old, mut at_new) = (head, head);
    for (old_index, new_index) in common(old, new, head..old_end, head..new_end) {
        changed(old, new, at_old..old_index, at_new..new_index, &mut steps);
        steps.push(Step::Keep { old: old_index, new: new_index });
        (at_old, at_new) = (old_index + 1, new_index + 1);
    }
    changed(old, new, at_old..old_end, at_new..new_end, &mut steps);
    steps.extend((0..tail).map(|index| Step::Keep { old: old_end + index, new: new_end + index }));
    steps
}

/// The longest common subsequence of the two middles.
fn common(
    old: &[Value],
    new: &[Value],
    old_range: std::ops::Range<usize>,
    new_range: std::ops::Range<usize>,
) -> Vec<(usize, usize)> {
    let (rows, columns) = (old_range.len(), new_range.len());
    if rows == 0 || columns == 0 || rows.saturating_mul(columns) > LONGEST_TABLE {
        return Vec::new();
    }
    let equal =
        |row: usize, column: usize| old.get(old_range.start + row) == new.get(new_range.start + column);
    let mut table = vec![0_u32; (rows + 1) * (columns + 1)];
    let cell = |row: usize, column: usize| row * (columns + 1) + column;
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            table[cell(row, column)] = if equal(row, column) {
                table[cell(row + 1, column + 1)] + 1
            } else {
                table[cell(row + 1, column)].max(table[cell(row, column + 1)])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut pairs = Vec::new();
    while row < rows && column < columns {
        if equal(row, column) {
            pairs.push((old_range.start + row, new_range.start + column));
            row += 1;
            column += 1;
        } else if table[cell(row + 1, column)] >= table[cell(row, column + 1)] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

/// Items between two equal ones: the same name is the same item.
fn changed(
    old: &[Value],
    new: &[Value],
    old_range: std::ops::Range<usize>,
    new_range: std::ops::Range<usize>,
    steps: &mut Vec<Step>,
) {
    let by_place = old_range.len() == new_range.len();
    let mut at = old_range.start;
    for new_index in new_range {
        let Some(wanted) = new.get(new_index) else { continue };
        let found =
            (at..old_range.end).find(|index| old.get(*index).is_some_and(|old| same_item(old, wanted)));
        let found = found.or_else(|| {
            let nameless =
                old.get(at).is_some_and(|old| identity(old).is_none()) && identity(wanted).is_none();
            (by_place && nameless && at < old_range.end).then_some(at)
        });
        match found {
            Some(index) => {
                steps.extend((at..index).map(|old| Step::Remove { old }));
                steps.push(Step::Keep { old: index, new: new_index });
                at = index + 1;
            }
            None => steps.push(Step::Insert { new: new_index }),
        }
    }
    steps.extend((at..old_range.end).map(|old| Step::Remove { old }));
}

fn same_item(old: &Value, new: &Value) -> bool {
    identity(old).is_some() && identity(old) == identity(new)
}

/// What an item of a list is known by: its name, or the two ends of an edge.
pub(crate) fn identity(item: &Value) -> Option<String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    match (text("name"), text("from"), text("to")) {
        (Some(name), _, _) => Some(name.to_owned()),
        (None, Some(from), Some(to)) => Some(format!("{from} -> {to}")),
        _ => None,
    }
}
