//! "Did you mean": the known name nearest to an unknown one.

/// Longer words are not compared: no name that people type is that long, and the work grows with the square.
const LONGEST_WORD: usize = 64;

/// The candidate that `word` is most likely a slip of, if one is near enough: the same word in another case
/// or with other separators, or at most a third of its letters typed wrongly. Words of one or two letters
/// are too short to be slips of each other. Of equally near candidates it is the first.
#[must_use]
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = folded(word)?;
    let limit = typed.len() / 3;
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word {
            continue;
        }
        let Some(known) = folded(candidate) else { continue };
        let bound = best.map_or(limit, |(distance, _)| distance.saturating_sub(1));
        if let Some(distance) = distance_within(&typed, &known, bound) {
            if distance == 0 {
                return Some(candidate);
            }
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The letters to compare: case and the usual separators do not make a different word.
fn folded(word: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = word
        .chars()
        .take(LONGEST_WORD + 1)
        .map(|letter| if matches!(letter, '-' | '_' | ' ') { '_' } else { letter })
        .flat_map(char::to_lowercase)
        .collect();
    (!letters.is_empty() && letters.len() <= LONGEST_WORD).then_some(letters)
}

/// How many single letters must be put in, left out, replaced or swapped with their neighbour; `None` when
/// more than `bound`.
fn distance_within(left: &[char], right: &[char], bound: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > bound {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, left_letter) in left.iter().enumerate() {
        let mut current = Vec::with_capacity(last.len());
        current.push(row + 1);
        for (column, right_letter) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(left_letter != right_letter);
            let mut cost = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && *left_letter == right[column - 1] && left[row - 1] == *right_letter;
            if swapped {
                cost = cost.min(before_last[column - 1] + 1);
            }
            current.push(cost);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().filter(|distance| *distance <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word() {
        let cases = [
            ("http.gett", Some("http.get")),
            ("promt", Some("prompt")),
            ("prmopt", Some("prompt")),
            ("outputSchema", Some("output_schema")),
            ("Output-Schema", Some("output_schema")),
            ("form", Some("from")),
            ("completely_else", None),
            ("a", None),
            ("ab", None),
            ("X", Some("x")),
            ("", None),
        ];
        let known = ["prompt", "http.get", "output_schema", "from", "x"];
        for (word, expected) in cases {
            assert_eq!(did_you_mean(word, known), expected, "{word:?}");
        }
    }

    #[test]
    fn the_nearest_wins_and_of_equals_the_first() {
        assert_eq!(did_you_mean("classfy", ["classic", "classify"]), Some("classify"));
        assert_eq!(did_you_mean("cat", ["car", "can"]), Some("car"));
    }

    #[test]
    fn the_word_itself_is_no_suggestion() {
        assert_eq!(did_you_mean("from", ["from"]), None);
        assert_eq!(did_you_mean("From", ["From", "from"]), Some("from"));
    }

    #[test]
    fn words_beyond_all_bounds_are_not_compared() {
        let long = "x".repeat(1 << 20);
        assert_eq!(did_you_mean(&long, ["x", long.as_str()]), None);
        assert_eq!(did_you_mean("prompt", [long.as_str()]), None);
    }

    proptest::proptest! {
        #[test]
        fn any_words_can_be_compared(word in "\\PC{0,12}", candidates in proptest::collection::vec("\\PC{0,12}", 0..6)) {
            let found = did_you_mean(&word, candidates.iter().map(String::as_str));
            proptest::prop_assert!(found.is_none_or(|found| candidates.iter().any(|known| known == found)));
        }

        #[test]
        fn one_letter_left_out_is_always_found(word in "[a-z]{4,12}", at in 0_usize..12) {
            let mut slip = word.clone();
            slip.remove(at % word.len());
            if slip != word {
                proptest::prop_assert_eq!(did_you_mean(&slip, [word.as_str()]), Some(word.as_str()));
            }
        }
    }
}
