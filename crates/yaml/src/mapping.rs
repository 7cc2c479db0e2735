//! Mappings while they are read: their keys, and what `<<` brings in.

use std::collections::HashSet;

use stave_diag::codes::yaml as codes;
use stave_diag::{Diagnostic, Span};

use crate::Spanned;
use crate::read::{Content, Frame, Reader};
use crate::{Tree, TreeValue, YamlEntry};

#[derive(Default)]
pub(crate) struct Mapping {
    pub(crate) entries: Vec<YamlEntry>,
    /// The names of a long mapping; a short one is searched.
    names: HashSet<String>,
    pub(crate) pending: Option<Key>,
    /// Values of `<<` with the number of entries ahead of them.
    pub(crate) merges: Vec<(usize, Tree)>,
}

/// How many entries are searched one by one.
const SHORT: usize = 16;

impl Mapping {
    /// The place of the entry of this name.
    fn place(&mut self, name: &str) -> Option<Span> {
        if self.entries.len() > SHORT {
            if self.names.is_empty() {
                self.names = self.entries.iter().map(|entry| entry.key.value.clone()).collect();
            }
            if !self.names.contains(name) {
                self.names.insert(name.to_owned());
                return None;
            }
        }
        self.entries.iter().find(|entry| entry.key.value == name).map(|entry| entry.key.span)
    }
}

pub(crate) enum Key {
    Name(Spanned<String>),
    Merge,
    /// Reported already; its value is read and dropped.
    Broken,
}

impl Reader<'_> {
    /// A finished node in a key's place.
    pub(crate) fn key(&mut self, tree: Tree, plain: bool) -> Key {
        let span = tree.span;
        let name = match tree.value {
            TreeValue::String(text) => text.as_str().to_owned(),
            TreeValue::Sequence(_) | TreeValue::Mapping(_) => {
                let message = "a key must be a word, not a list or a mapping";
                self.report(Diagnostic::new(codes::COMPLEX_KEY, span, message));
                return Key::Broken;
            }
            // A number or a boolean is a key by the text it was written with.
            _ => self.text.get(span.range()).unwrap_or_default().to_owned(),
        };
        self.named_key(name, span, plain)
    }

    /// A key by its name.
    pub(crate) fn named_key(&mut self, name: String, span: Span, plain: bool) -> Key {
        if plain && name == "<<" {
            return Key::Merge;
        }
        let Some(Frame { content: Content::Mapping(mapping), .. }) = self.frames.last_mut() else {
            return Key::Broken;
        };
        if let Some(first) = mapping.place(&name) {
            let diagnostic =
                Diagnostic::new(codes::DUPLICATE_KEY, span, format!("the key `{name}` occurs twice"))
                    .label(first, "it occurs here first")
                    .help(format!("remove one of the two `{name}` or rename it"));
            self.report(diagnostic);
            return Key::Broken;
        }
        Key::Name(Spanned::new(name, span))
    }

    /// The entries of a mapping with its merge keys expanded: what the mapping says itself wins, then
    /// what is merged first.
    pub(crate) fn merge(&mut self, mapping: Mapping) -> Vec<YamlEntry> {
        let Mapping { entries, merges, .. } = mapping;
        if merges.is_empty() {
            return entries;
        }
        let mut taken: HashSet<String> = entries.iter().map(|entry| entry.key.value.clone()).collect();
        let mut out = Vec::with_capacity(entries.len());
        let mut merges = merges.into_iter().peekable();
        for (index, entry) in entries.into_iter().map(Some).chain([None]).enumerate() {
            while let Some((_, tree)) = merges.next_if(|(position, _)| *position == index) {
                let sources = match tree.value {
                    TreeValue::Sequence(items) => items,
                    _ => vec![tree],
                };
                for source in sources {
                    let TreeValue::Mapping(merged) = source.value else {
                        let message = format!("`<<` merges mappings, and this is {}", source.kind());
                        self.report(Diagnostic::new(codes::UNREPRESENTABLE_VALUE, source.span, message));
                        continue;
                    };
                    out.extend(merged.into_iter().filter(|entry| taken.insert(entry.key.value.clone())));
                }
            }
            out.extend(entry);
        }
        out
    }
}
