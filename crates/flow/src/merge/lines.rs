//! Three-way merges of texts, line by line.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// The merged text; `None` when both sides changed the same lines, or lines right beside each other,
/// differently.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let lines = |text: &'_ str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let (left, right) = (hunks(&base, &ours), hunks(&base, &theirs));
    let mut out = String::new();
    let mut at = 0;
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let hunk = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(one), Some(other)) if one == other => {
                right.next();
                left.next()?
            }
            (Some(one), Some(other)) => {
                let first_is_left = one.old.end < other.old.start;
                let first_is_right = other.old.end < one.old.start;
                if first_is_left {
                    left.next()?
                } else if first_is_right {
                    right.next()?
                } else {
                    return None;
                }
            }
            (Some(_), None) => left.next()?,
            (None, Some(_)) => right.next()?,
        };
        base.get(at..hunk.old.start)?.iter().for_each(|line| out.push_str(line));
        hunk.new.iter().for_each(|line| out.push_str(line));
        at = hunk.old.end;
    }
    base.get(at..)?.iter().for_each(|line| out.push_str(line));
    Some(out)
}

#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    old: Range<usize>,
    new: Vec<String>,
}

fn hunks(base: &[String], side: &[String]) -> Vec<Hunk> {
    let ops = capture_diff_slices(Algorithm::Myers, base, side);
    ops.iter()
        .filter_map(|op| {
            let (tag, old, new) = op.as_tag_tuple();
            (tag != DiffTag::Equal).then(|| Hunk { old, new: side.get(new).unwrap_or_default().to_vec() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_apart_are_both_taken_and_changes_together_are_not() {
        let base = "a\nb\nc\nd\ne\n";
        assert_eq!(merge(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").as_deref(), Some("A\nb\nc\nd\nE\n"));
        assert_eq!(merge(base, "A\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n").as_deref(), Some("A\nb\nc\nd\nE\n"));
        assert_eq!(merge(base, "A\nb\nc\nd\ne\n", "X\nb\nc\nd\ne\n"), None);
        assert_eq!(merge(base, base, "").as_deref(), Some(""));
    }

    proptest::proptest! {
        #[test]
        fn one_side_that_changed_nothing_gives_the_other(base in "[abc\n]{0,12}", other in "[abc\n]{0,12}") {
            proptest::prop_assert_eq!(merge(&base, &base, &other), Some(other.clone()));
            proptest::prop_assert_eq!(merge(&base, &other, &base), Some(other.clone()));
            proptest::prop_assert_eq!(merge(&base, &other, &other), Some(other));
        }
    }
}
