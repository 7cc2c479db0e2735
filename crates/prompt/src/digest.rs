//! A digest of texts without a model: of each one the lines that say most about it, within a bound.
//!
//! Invariant: the same texts give the same digest, every text is named or counted, and the digest is not longer than its
//! bound by more than its first and last lines.

use std::collections::HashSet;
use std::fmt::Write;

/// The least that a digest may have, in bytes.
const LEAST_BYTES: usize = 512;
/// The most that a digest has, whatever the budget of its prompt.
const MOST_BYTES: usize = 16 * 1024;
/// Which part of a prompt's token budget a digest may take.
const PART_OF_BUDGET: u64 = 4;
/// Bytes that a token has at least, in text that models read often.
const BYTES_PER_TOKEN: u64 = 3;
/// The longest line that is taken whole.
const LINE_BYTES: usize = 240;
/// A text for which there is less room than this is only counted.
const LEAST_SHARE: usize = 48;
/// The longest name that is shown.
const NAME_BYTES: usize = 200;
/// How a word of the intent has to be to count.
const LEAST_LETTERS: usize = 4;

/// What a line begins with that names something: headings and definitions.
const NAMING: [&str; 16] = [
    "#",
    "def ",
    "class ",
    "fn ",
    "pub ",
    "struct ",
    "enum ",
    "trait ",
    "impl ",
    "function ",
    "export ",
    "interface ",
    "type ",
    "const ",
    "CREATE ",
    "===",
];

/// How many bytes the digest of a prompt with this token budget may have.
#[must_use]
pub fn digest_bytes(token_budget: u64) -> usize {
    let bytes = (token_budget / PART_OF_BUDGET).saturating_mul(BYTES_PER_TOKEN);
    usize::try_from(bytes).unwrap_or(MOST_BYTES).clamp(LEAST_BYTES, MOST_BYTES)
}

/// The digest of texts, each with its name, for a task.
#[must_use]
pub fn extract(task: &str, texts: &[(&str, &str)], most_bytes: usize) -> String {
    let task = task.to_lowercase();
    let words: HashSet<&str> = words(&task).collect();
    let mut digest = format!("Digest of {} references, the most telling lines of each:", texts.len());
    let mut room = most_bytes.saturating_sub(digest.len());
    for (index, (name, text)) in texts.iter().enumerate() {
        let left = texts.len() - index;
        let share = room / left;
        if share < LEAST_SHARE {
            let _ = write!(digest, "\n\n[{left} more references are not shown]");
            break;
        }
        let before = digest.len();
        let _ = write!(digest, "\n\n{}:", one_line(name));
        lines_of(text, &words, share.saturating_sub(digest.len() - before), &mut digest);
        room = room.saturating_sub(digest.len() - before);
    }
    digest
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|sign: char| !sign.is_alphanumeric());
    words.filter(|word| word.chars().count() >= LEAST_LETTERS)
}

fn one_line(name: &str) -> String {
    let name: String =
        name.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).take(NAME_BYTES).collect();
    if name.is_empty() { "(no name)".to_owned() } else { name }
}

/// Adds the lines that say most, in their order. A sign marks each gap.
fn lines_of(text: &str, words: &HashSet<&str>, room: usize, digest: &mut String) {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut scored: Vec<(u32, usize)> = Vec::new();
    let mut seen = HashSet::new();
    let filled = lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (number, (index, line)) in filled.enumerate() {
        // A repeated line is taken once.
        if seen.insert(line.trim()) {
            scored.push((score(line, number, words), index));
        }
    }
    scored.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
    let (mut taken, mut used) = (Vec::new(), 0);
    for (_, index) in &scored {
        // A line break, and the sign for a gap behind it.
        let cost = shown(lines[*index]).len() + 3 + '…'.len_utf8();
        if used + cost <= room {
            used += cost;
            taken.push(*index);
        }
    }
    taken.sort_unstable();
    let mut next = 0;
    for index in &taken {
        let gap = lines[next..*index].iter().any(|line| !line.trim().is_empty());
        digest.push_str(if gap { "\n…\n" } else { "\n" });
        digest.push_str(&shown(lines[*index]));
        next = index + 1;
    }
    if lines[next..].iter().any(|line| !line.trim().is_empty()) {
        digest.push_str("\n…");
    }
}

/// How much a line says about its text: what names something, what the task asks for, and what is at the beginning.
fn score(line: &str, number: usize, words: &HashSet<&str>) -> u32 {
    let start = line.trim_start();
    let naming = NAMING.iter().any(|naming| start.starts_with(naming));
    let lower = line.to_lowercase();
    let found: HashSet<&str> = self::words(&lower).filter(|word| words.contains(word)).collect();
    let place = match number {
        0 => 4,
        1..=4 => 1,
        _ => 0,
    };
    place + 3 * u32::from(naming) + 2 * u32::try_from(found.len().min(4)).unwrap_or(4)
}

/// A line as it is, or its beginning with a sign.
fn shown(line: &str) -> String {
    let end = line.floor_char_boundary(LINE_BYTES);
    if end < line.len() { format!("{}…", &line[..end]) } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_content_of_every_text_within_its_bound() {
        let texts: Vec<(String, String)> = (0..26)
            .map(|number| {
                let filler = "some words that say little\n".repeat(40);
                let text = format!("# Page {number}\n{filler}the refund limit is {number} euros\n{filler}");
                (format!("docs/{number}.md"), text)
            })
            .collect();
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let digest = extract("Explain the refund limit", &texts, 4096);
        assert!(digest.len() <= 4096, "{}", digest.len());
        for number in 0..26 {
            for telling in
                [format!("docs/{number}.md:"), format!("# Page {number}\n"), format!("is {number} euros")]
            {
                assert!(digest.contains(&telling), "{telling} is not in\n{digest}");
            }
        }
        assert_eq!(digest, extract("Explain the refund limit", &texts, 4096));
    }

    #[test]
    fn texts_without_room_are_counted() {
        let texts = vec![("a", "first line"); 90];
        let digest = extract("x", &texts, 512);
        assert!(digest.contains("more references are not shown]"), "{digest}");
        assert!(digest.len() < 600);
        let wide = extract("x", &[("a\nb", &"é".repeat(5000))], 4096);
        assert!(wide.contains("\n\na b:\né") && wide.len() < 400, "{wide}");
        assert!(extract("x", &[("a", "")], 600).ends_with("\n\na:"));
    }

    #[test]
    fn the_bound_follows_the_budget_of_the_prompt() {
        assert_eq!([0, 2000, u64::MAX].map(digest_bytes), [512, 1500, MOST_BYTES]);
    }
}
