//! Context references: a prefix says what kind of data a reference names.

/// The reference that stands for all references once they were compressed into a digest.
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
}
