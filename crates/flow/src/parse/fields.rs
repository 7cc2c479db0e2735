//! Reading the fields of a mapping: each is taken by name and kind, and what is left over is unknown.

use stave_canon::Number;
use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Fix, Severity, Span, did_you_mean};

use crate::model::{Extra, LaterField, Readable, ReadableList, Sensitivity, Spanned, Text};
use crate::yaml::{Tree, TreeValue, YamlEntry};

/// Collects what is wrong while the tree is turned into the model.
#[derive(Debug)]
pub(super) struct Reader<'text> {
    pub(super) text: &'text str,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Keys that version 1.0 does not have.
    pub(super) later_fields: Vec<LaterField>,
}

impl Reader<'_> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The source text of a scalar, as it was written.
    pub(super) fn raw(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

/// The fields of one mapping of the flow.
#[derive(Debug)]
pub(super) struct Fields<'tree> {
    /// How messages name the mapping, such as "node `fetch`".
    pub(super) owner: String,
    /// Where to report what is missing: the key that holds the mapping.
    pub(super) key: Span,
    pub(super) span: Span,
    entries: &'tree [YamlEntry],
    taken: Vec<&'static str>,
}

impl<'tree> Fields<'tree> {
    /// The fields of a tree that must be a mapping.
    pub(super) fn of(reader: &mut Reader<'_>, tree: &'tree Tree, key: Span, owner: String) -> Option<Self> {
        let Some(entries) = tree.entries() else {
            wrong_type(reader, tree, key, &owner, "a mapping");
            return None;
        };
        Some(Fields { owner, key, span: tree.span, entries, taken: Vec::new() })
    }

    /// The entry of a field. An optional field that is null is absent.
    pub(super) fn optional(&mut self, name: &'static str) -> Option<&'tree YamlEntry> {
        self.taken.push(name);
        let entry = self.entries.iter().find(|entry| entry.key.value == name)?;
        (entry.value.value != TreeValue::Null).then_some(entry)
    }

    /// Notes which of these fields are written, because only the minor version `since` and later ones have them.
    pub(super) fn added_in(&mut self, reader: &mut Reader<'_>, since: u64, names: &[&str]) {
        for entry in self.entries.iter().filter(|entry| names.contains(&entry.key.value.as_str())) {
            let path = self.path(&entry.key.value);
            reader.later_fields.push(LaterField { key: entry.key.span, path, since });
        }
    }

    /// The entry of a field that must be there.
    pub(super) fn required(
        &mut self,
        reader: &mut Reader<'_>,
        name: &'static str,
    ) -> Option<&'tree YamlEntry> {
        self.taken.push(name);
        let entry = self.entries.iter().find(|entry| entry.key.value == name);
        if entry.is_none() {
            let message = format!("{} has no `{name}`", self.owner);
            let mut diagnostic = Diagnostic::new(codes::MISSING_FIELD, self.key, message);
            let written = self.entries.iter().filter(|entry| !self.taken.contains(&entry.key.value.as_str()));
            let near = written.filter(|entry| did_you_mean(&entry.key.value, [name]).is_some());
            diagnostic = match near.map(|entry| &entry.key).next() {
                Some(key) => diagnostic.label(key.span, format!("did you mean `{name}`?")),
                None => diagnostic.help(format!("add `{name}:` to it")),
            };
            reader.report(diagnostic);
        }
        entry
    }

    /// A path for messages: "`timeout_ms` of node `fetch`".
    fn path(&self, name: &str) -> String {
        format!("`{name}` of {}", self.owner)
    }

    pub(super) fn text(&mut self, reader: &mut Reader<'_>, name: &'static str) -> Option<Text> {
        let entry = self.optional(name)?;
        as_text(reader, entry, &self.path(name))
    }

    /// A text that may be left out, and that somebody misses.
    pub(super) fn readable_text(&mut self, reader: &mut Reader<'_>, name: &'static str) -> Readable<Text> {
        match self.optional(name) {
            Some(entry) => Readable::of(as_text(reader, entry, &self.path(name))),
            None => Readable::Absent,
        }
    }

    /// A field that may be left out, with the state in which it was found.
    pub(super) fn readable<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'tree YamlEntry) -> Option<T>,
    ) -> Readable<T> {
        self.optional(name).map_or(Readable::Absent, |entry| Readable::of(read(entry)))
    }

    pub(super) fn required_text(&mut self, reader: &mut Reader<'_>, name: &'static str) -> Option<Text> {
        let entry = self.required(reader, name)?;
        as_text(reader, entry, &self.path(name))
    }

    pub(super) fn boolean(&mut self, reader: &mut Reader<'_>, name: &'static str) -> Readable<bool> {
        let Some(entry) = self.optional(name) else { return Readable::Absent };
        if let TreeValue::Bool(value) = entry.value.value {
            return Readable::Read(value);
        }
        let meant = match entry.value.text().map(Text::as_str) {
            Some("yes" | "Yes" | "on" | "On" | "y") => Some("true"),
            Some("no" | "No" | "off" | "Off" | "n") => Some("false"),
            _ => None,
        };
        let mut diagnostic =
            wrong_type_diagnostic(&entry.value, entry.key.span, &self.path(name), "true or false");
        if let Some(meant) = meant {
            diagnostic = diagnostic
                .help(format!("write `{meant}`; `yes`, `no`, `on` and `off` are plain words in YAML 1.2"))
                .fix(Fix::replace(format!("write `{meant}`"), entry.value.span, meant));
        }
        reader.report(diagnostic);
        Readable::Unreadable
    }

    pub(super) fn number(&mut self, reader: &mut Reader<'_>, name: &'static str) -> Option<Spanned<Number>> {
        let entry = self.optional(name)?;
        match &entry.value.value {
            TreeValue::Number(number) => Some(Spanned::new(number.clone(), entry.value.span)),
            _ => {
                wrong_type(reader, &entry.value, entry.key.span, &self.path(name), "a number");
                None
            }
        }
    }

    /// A number above 0.
    pub(super) fn positive_number(
        &mut self,
        reader: &mut Reader<'_>,
        name: &'static str,
    ) -> Option<Spanned<Number>> {
        let number = self.number(reader, name)?;
        if number.value.as_f64() > 0.0 {
            return Some(number);
        }
        let message = format!("{} must be above 0", self.path(name));
        reader.report(Diagnostic::new(codes::OUT_OF_RANGE, number.span, message));
        None
    }

    /// A whole number that is at least `least`.
    pub(super) fn count(
        &mut self,
        reader: &mut Reader<'_>,
        name: &'static str,
        least: u64,
    ) -> Option<Spanned<u64>> {
        let entry = self.optional(name)?;
        let span = entry.value.span;
        let TreeValue::Number(number) = &entry.value.value else {
            wrong_type(reader, &entry.value, entry.key.span, &self.path(name), "a whole number");
            return None;
        };
        if !number.is_integer() {
            let message = format!("{} must be a whole number", self.path(name));
            reader.report(Diagnostic::new(codes::WRONG_TYPE, span, message));
            return None;
        }
        let value = number.as_i64().and_then(|value| u64::try_from(value).ok());
        let value = value.filter(|value| *value >= least);
        if value.is_none() {
            let bound = if number.as_f64() > 0.0 {
                "is too large".to_owned()
            } else {
                format!("must be at least {least}")
            };
            reader.report(Diagnostic::new(codes::OUT_OF_RANGE, span, format!("{} {bound}", self.path(name))));
        }
        value.map(|value| Spanned::new(value, span))
    }

    pub(super) fn texts(
        &mut self,
        reader: &mut Reader<'_>,
        name: &'static str,
    ) -> Option<ReadableList<Text>> {
        let entry = self.optional(name)?;
        Some(self.text_list(reader, entry, name))
    }

    pub(super) fn text_list(
        &self,
        reader: &mut Reader<'_>,
        entry: &'tree YamlEntry,
        name: &str,
    ) -> ReadableList<Text> {
        let Some(items) = entry.value.items() else {
            let mut diagnostic =
                wrong_type_diagnostic(&entry.value, entry.key.span, &self.path(name), "a list of strings");
            if let Some(text) = entry.value.text().filter(|text| !reader.raw(text.span).contains('\n')) {
                let list = format!("[{}]", reader.raw(text.span));
                diagnostic = diagnostic.help(format!("write `{name}: {list}`")).fix(Fix::replace(
                    "make it a list",
                    text.span,
                    list,
                ));
            }
            reader.report(diagnostic);
            return ReadableList::unreadable();
        };
        let path = format!("an item of {}", self.path(name));
        let texts = items.iter().filter_map(|item| match &item.value {
            TreeValue::String(text) => Some(text.clone()),
            _ => {
                wrong_type(reader, item, item.span, &path, "a string");
                None
            }
        });
        let texts: Vec<Text> = texts.collect();
        let unreadable = items.len() - texts.len();
        ReadableList::new(texts, unreadable)
    }

    /// One word out of a closed list.
    pub(super) fn word<T: Copy>(
        &self,
        reader: &mut Reader<'_>,
        entry: &'tree YamlEntry,
        words: &[(&'static str, T)],
    ) -> Option<Spanned<T>> {
        let text = as_text(reader, entry, &self.path(&entry.key.value))?;
        let found = words.iter().find(|(word, _)| *word == text.as_str());
        if found.is_none() {
            reader.report(unknown_word(
                &text,
                &self.path(&entry.key.value),
                words.iter().map(|(word, _)| *word),
            ));
        }
        found.map(|(_, value)| Spanned::new(*value, text.span))
    }

    /// A word for how confidential something is.
    pub(super) fn sensitivity(
        &mut self,
        reader: &mut Reader<'_>,
        name: &'static str,
    ) -> Option<Spanned<Sensitivity>> {
        let entry = self.optional(name)?;
        let words = Sensitivity::ALL.map(|sensitivity| (sensitivity.word(), sensitivity));
        self.word(reader, entry, &words)
    }

    /// The fields that nobody took. `x-` fields are the author's own; the rest is reported.
    pub(super) fn finish(self, reader: &mut Reader<'_>) -> Vec<Extra> {
        self.finish_as(reader, Severity::Warning)
    }

    /// The same where a field that is not obeyed would be a promise that is broken, such as a limit.
    pub(super) fn finish_closed(self, reader: &mut Reader<'_>) -> Vec<Extra> {
        self.finish_as(reader, Severity::Error)
    }

    fn finish_as(self, reader: &mut Reader<'_>, severity: Severity) -> Vec<Extra> {
        let unknown = self.entries.iter().filter(|entry| !self.taken.contains(&entry.key.value.as_str()));
        let extra: Vec<Extra> =
            unknown.map(|entry| Extra { key: entry.key.clone(), value: entry.value.clone() }).collect();
        let absent: Vec<&str> = self
            .taken
            .iter()
            .copied()
            .filter(|name| !self.entries.iter().any(|entry| entry.key.value == *name))
            .collect();
        for Extra { key, .. } in extra.iter().filter(|extra| !extra.key.starts_with("x-")) {
            let message = format!("{} has no field `{}`", self.owner, key.value);
            let mut diagnostic = Diagnostic::new(codes::UNKNOWN_FIELD, key.span, message).severity(severity);
            diagnostic = match did_you_mean(key, absent.iter().copied()) {
                Some(near) => {
                    let first = reader.raw(key.span).chars().next();
                    let quote = first.filter(|first| matches!(first, '"' | '\'')).map(String::from);
                    let quote = quote.unwrap_or_default();
                    let title = format!("rename it to `{near}`");
                    let fix = Fix::replace(title, key.span, format!("{quote}{near}{quote}"));
                    diagnostic.help(format!("did you mean `{near}`?")).fix(fix)
                }
                None => {
                    diagnostic.help(format!("remove it, or name it `x-{}` to keep it as your own", key.value))
                }
            };
            reader.report(diagnostic);
        }
        extra
    }
}

/// A string, or a report that something else is there.
pub(super) fn as_text(reader: &mut Reader<'_>, entry: &YamlEntry, path: &str) -> Option<Text> {
    if let TreeValue::String(text) = &entry.value.value {
        return Some(text.clone());
    }
    let mut diagnostic = wrong_type_diagnostic(&entry.value, entry.key.span, path, "a string");
    if matches!(entry.value.value, TreeValue::Number(_) | TreeValue::Bool(_)) {
        let quoted = format!("\"{}\"", reader.raw(entry.value.span));
        diagnostic = diagnostic.help(format!("quote it: `{quoted}`")).fix(Fix::replace(
            "quote it",
            entry.value.span,
            quoted,
        ));
    }
    reader.report(diagnostic);
    None
}

pub(super) fn wrong_type(reader: &mut Reader<'_>, tree: &Tree, key: Span, path: &str, expected: &str) {
    reader.report(wrong_type_diagnostic(tree, key, path, expected));
}

/// A container is reported at its key, since marking all of it would say less.
fn wrong_type_diagnostic(tree: &Tree, key: Span, path: &str, expected: &str) -> Diagnostic {
    let container = matches!(tree.value, TreeValue::Sequence(_) | TreeValue::Mapping(_) | TreeValue::Null);
    let span = if container { key } else { tree.span };
    Diagnostic::new(
        codes::WRONG_TYPE,
        span,
        format!("{path} must be {expected}, and this is {}", tree.kind()),
    )
}

/// A word outside a closed list.
pub(super) fn unknown_word(
    text: &Text,
    path: &str,
    words: impl Iterator<Item = &'static str> + Clone,
) -> Diagnostic {
    let message = format!("{path} cannot be `{}`", text.as_str());
    let diagnostic = Diagnostic::new(codes::UNKNOWN_WORD, text.span, message);
    match did_you_mean(text.as_str(), words.clone()) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")).fix(Fix::replace(
            format!("write `{near}`"),
            text.embedded.whole(),
            near,
        )),
        None => {
            let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
            diagnostic.help(format!("write one of {}", words.join(", ")))
        }
    }
}
