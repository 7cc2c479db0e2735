//! What differs from run to run, taken out of what people read, so that the rest can be compared.

use crate::folder::Folder;

/// The text with the folder's path, times and ids replaced by words.
pub(crate) fn mask(text: &str, folder: &Folder) -> String {
    let mut text = text.to_owned();
    let path = folder.path();
    let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for path in [canonical.display().to_string(), path.display().to_string()] {
        text = text.replace(&path, "[folder]");
    }
    let lines: Vec<String> =
        text.lines().map(|line| table_line(line).unwrap_or_else(|| run_ids(line))).collect();
    lines.join("\n")
}

/// A line with the ids of runs replaced.
fn run_ids(line: &str) -> String {
    let mut masked = String::new();
    let mut rest = line;
    while let Some(start) = rest.find("run_") {
        let (before, id) = rest.split_at(start);
        let end =
            id.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(id.len());
        masked.push_str(before);
        masked.push_str(if end == "run_".len() + 32 { "[run]" } else { &id[..end] });
        rest = &id[end..];
    }
    masked + rest
}

/// A line of a table without its widths, which follow the times in it.
fn table_line(line: &str) -> Option<String> {
    const BORDER: &str = "┌┐└┘╭╮╰╯╞╡═─│┆├┤┼┬┴╌ ";
    if !line.starts_with(['┌', '└', '╭', '╰', '╞', '├', '│']) {
        return None;
    }
    if line.chars().all(|letter| BORDER.contains(letter)) {
        return Some("────".to_owned());
    }
    let words = line.split_whitespace().map(|word| if is_time(word) { "[ms]" } else { word });
    Some(words.collect::<Vec<&str>>().join(" "))
}

/// A number with one place after the point, as the table writes milliseconds.
fn is_time(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(whole, fraction)| is_number(whole) && fraction.len() == 1 && is_number(fraction))
}

#[test]
fn only_times_widths_and_ids_are_taken_out() {
    let folder = Folder::new();
    let text = format!("╭──────╮\n│ a   12.3   45 │\n{}/x took 3 of 0.25", folder.path().display());
    let id = "run_0123456789abcdef0123456789abcdef";
    assert_eq!(mask(&format!("run {id}: run_away"), &folder), "run [run]: run_away");
    assert_eq!(mask(&text, &folder), "────\n│ a [ms] 45 │\n[folder]/x took 3 of 0.25");
}
