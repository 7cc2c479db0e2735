//! The files that a wildcard matches: `*` and `?` within a name, `**` over folders, `[a-c]`, `{a,b}`.

use std::path::{Path, PathBuf};

/// How many entries are looked at before the search is given up.
const MOST_ENTRIES: usize = 50_000;
/// How many files one reference may stand for.
const MOST_FILES: usize = 100;
/// How deep folders are searched.
const DEEPEST: usize = 16;

/// The matching files below a folder in the order of their paths. Hidden files are matched only by a
/// pattern that names the dot, and links to folders are not followed.
pub(super) fn matching(root: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let patterns: Vec<Vec<String>> = alternatives(pattern)
        .into_iter()
        .map(|pattern| {
            pattern.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
        })
        .collect();
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_path_buf(), Vec::<String>::new())];
    let mut seen = 0;
    while let Some((folder, names)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            if seen > MOST_ENTRIES {
                return Err(format!("more than {MOST_ENTRIES} entries would have to be searched"));
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            let mut names = names.clone();
            names.push(name);
            if kind.is_dir() {
                if names.len() < DEEPEST && !names.last().is_some_and(|name| name.starts_with('.')) {
                    waiting.push((entry.path(), names));
                }
            } else if patterns.iter().any(|pattern| matches(pattern, &names)) {
                found.push(entry.path());
                if found.len() > MOST_FILES {
                    return Err(format!("it matches more than {MOST_FILES} files"));
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A pattern without its first braces, once for each of their alternatives; a pattern has a few at most.
fn alternatives(pattern: &str) -> Vec<String> {
    if let Some((before, rest)) = pattern.split_once('{')
        && let Some((inside, after)) = rest.split_once('}')
    {
        return inside.split(',').take(16).map(|one| format!("{before}{one}{after}")).collect();
    }
    vec![pattern.to_owned()]
}

/// Whether the parts of a pattern match the names of a path, `**` standing for any number of folders.
fn matches(pattern: &[String], names: &[String]) -> bool {
    // reachable[n]: the pattern so far matches the first n names.
    let mut reachable = vec![false; names.len() + 1];
    reachable[0] = true;
    for part in pattern {
        let mut next = vec![false; names.len() + 1];
        for at in 0..=names.len() {
            if !reachable[at] {
                continue;
            }
            if part == "**" {
                next[at..].fill(true);
                break;
            }
            if let Some(name) = names.get(at) {
                next[at + 1] |= matches_name(part, name);
            }
        }
        reachable = next;
    }
    reachable[names.len()]
}

fn matches_name(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let name: Vec<char> = name.chars().collect();
    let mut reachable = vec![false; name.len() + 1];
    reachable[0] = true;
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        let mut next = vec![false; name.len() + 1];
        if sign == '*' {
            if let Some(first) = reachable.iter().position(|is| *is) {
                next[first..].fill(true);
            }
        } else {
            let set: Option<String> =
                (sign == '[').then(|| signs.by_ref().take_while(|sign| *sign != ']').collect());
            for at in 0..name.len() {
                let fits = match &set {
                    Some(set) => in_set(set, name[at]),
                    None => sign == '?' || sign == name[at],
                };
                next[at + 1] = reachable[at] && fits;
            }
        }
        reachable = next;
    }
    reachable[name.len()]
}

fn in_set(set: &str, letter: char) -> bool {
    let (negated, set) = match set.strip_prefix(['!', '^']) {
        Some(rest) => (true, rest),
        None => (false, set),
    };
    let signs: Vec<char> = set.chars().collect();
    let mut found = false;
    let mut at = 0;
    while at < signs.len() {
        if at + 2 < signs.len() && signs[at + 1] == '-' {
            found |= (signs[at]..=signs[at + 2]).contains(&letter);
            at += 3;
        } else {
            found |= signs[at] == letter;
            at += 1;
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_names_and_folders() {
        let fits = |pattern: &str, path: &str| {
            let split = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
            alternatives(pattern).iter().any(|pattern| matches(&split(pattern), &split(path)))
        };
        for (pattern, path) in [
            ("src/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a/b/c.rs"),
            ("**/notes.md", "notes.md"),
            ("src/[a-c]?.py", "src/b1.py"),
            ("src/[!a]*.py", "src/b.py"),
            ("src/*.{rs,py}", "src/x.py"),
            ("a*b*c", "aXbYc"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("src/*.rs", "src/a/b.rs"),
            ("src/*", "src/.env"),
            ("*.rs", "src/a.rs"),
            ("src/[a-c].py", "src/d.py"),
            ("a*b", "ac"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }
}
