//! The name a person probably meant.

/// The candidate nearest to `name`, when one is near enough to be a slip of the hand.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let allowed = match name.chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        _ => 2,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate, allowed), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *candidate != name)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two names; any number above
/// `bound` means "more than that".
fn distance(left: &str, right: &str, bound: usize) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.len().abs_diff(right.len()) > bound || left.len().max(right.len()) > 64 {
        return bound + 1;
    }
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, left_char) in left.iter().enumerate() {
        let mut current = vec![row + 1; right.len() + 1];
        for (column, right_char) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(left_char != right_char);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && left_char == &right[column - 1] && &left[row - 1] == right_char;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current[column + 1] = best;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_a_different_word_is_not() {
        let candidates = ["query", "customer_data", "history"];
        assert_eq!(nearest("querry", candidates), Some("query"));
        assert_eq!(nearest("qeury", candidates), Some("query"));
        assert_eq!(nearest("custmer_data", candidates), Some("customer_data"));
        assert_eq!(nearest("reply", candidates), None);
        assert_eq!(nearest("", candidates), None);
    }
}
