//! Context references: a prefix says what kind of data a reference names.

/// The reference that replaces all references once they were compressed into a digest.
pub const CONTEXT_DIGEST_MARKER: &str = "__CONTEXT_DIGEST__";

/// What a reference of `context_refs` names. Prefixes are case-sensitive and nothing is trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextRef<'r> {
    /// `file:<path>`
    File(&'r str),
    /// `diff:<ref>`
    Diff(&'r str),
    /// `memory:<key>`: the value under that key in the prompt's metadata.
    Memory(&'r str),
    /// [`CONTEXT_DIGEST_MARKER`]: the digest text in the prompt's metadata.
    Digest,
    /// Anything else, unknown prefixes included.
    Raw(&'r str),
}

impl<'r> ContextRef<'r> {
    #[must_use]
    pub fn parse(reference: &'r str) -> ContextRef<'r> {
        if reference == CONTEXT_DIGEST_MARKER {
            return ContextRef::Digest;
        }
        match reference.split_once(':') {
            Some(("file", path)) => ContextRef::File(path),
            Some(("diff", name)) => ContextRef::Diff(name),
            Some(("memory", key)) => ContextRef::Memory(key),
            _ => ContextRef::Raw(reference),
        }
    }
}

/// A `file:` reference taken apart: `src/a.rs`, `src/a.rs:10-20`, `src/a.rs#L10-L20`, `src/**/*.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileSelection<'r> {
    pub path: &'r str,
    /// The first and the last line, counted from 1.
    pub lines: Option<(usize, usize)>,
}

impl<'r> FileSelection<'r> {
    #[must_use]
    pub fn parse(path: &'r str) -> FileSelection<'r> {
        let cut = path.rsplit_once('#').or_else(|| path.rsplit_once(':'));
        if let Some((path, lines)) = cut
            && let Some(lines) = line_range(lines)
            && !path.is_empty()
        {
            return FileSelection { path, lines: Some(lines) };
        }
        FileSelection { path, lines: None }
    }

    /// Whether the path means every file that it matches.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.path.contains(['*', '?', '[', '{'])
    }
}

/// `10`, `10-20`, `L10` or `L10-L20`.
fn line_range(text: &str) -> Option<(usize, usize)> {
    let line =
        |text: &str| text.strip_prefix('L').unwrap_or(text).parse::<usize>().ok().filter(|line| *line > 0);
    match text.split_once('-') {
        Some((first, last)) => line(first).zip(line(last)).filter(|(first, last)| first <= last),
        None => line(text).map(|line| (line, line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_told_apart() {
        for (text, reference) in [
            ("file:src/a.py", ContextRef::File("src/a.py")),
            ("file:c:/a", ContextRef::File("c:/a")),
            ("diff:main", ContextRef::Diff("main")),
            ("memory:previous", ContextRef::Memory("previous")),
            ("__CONTEXT_DIGEST__", ContextRef::Digest),
            ("FILE:a", ContextRef::Raw("FILE:a")),
            (" file:a", ContextRef::Raw(" file:a")),
            ("url:https://example.com", ContextRef::Raw("url:https://example.com")),
            ("", ContextRef::Raw("")),
        ] {
            assert_eq!(ContextRef::parse(text), reference, "{text:?}");
        }
    }

    #[test]
    fn lines_and_wildcards_are_told_from_the_path() {
        for (text, path, lines) in [
            ("src/a.rs", "src/a.rs", None),
            ("src/a.rs:10-20", "src/a.rs", Some((10, 20))),
            ("src/a.rs:7", "src/a.rs", Some((7, 7))),
            ("src/a.rs#L3-L5", "src/a.rs", Some((3, 5))),
            ("src/a.rs:20-10", "src/a.rs:20-10", None),
            ("src/a.rs:0", "src/a.rs:0", None),
            ("c:/a", "c:/a", None),
            (":3", ":3", None),
        ] {
            assert_eq!(FileSelection::parse(text), FileSelection { path, lines }, "{text}");
        }
        assert!(FileSelection::parse("src/**/*.rs:1-9").is_glob());
    }
}
