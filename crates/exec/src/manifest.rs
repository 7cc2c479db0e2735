//! The manifest: which flows one compile emitted (specification 004, section 7).

use stave_canon::{Object, Value};

use crate::Document;

/// One flow of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestEntry {
    pub name: String,
    pub source_file: String,
    pub policy_ref: String,
    /// Sorted, each once.
    pub step_kinds: Vec<String>,
    /// `sha256:` and the digest of the canonical inputs schema.
    pub inputs_schema_hash: String,
    /// The document, relative to the manifest.
    pub ir_path: String,
}

impl ManifestEntry {
    /// The entry of a document that is stored at `ir_path`.
    #[must_use]
    pub fn of(document: &Document, ir_path: impl Into<String>) -> Self {
        ManifestEntry {
            name: document.flow.name.clone(),
            source_file: document.metadata.source_file.clone(),
            policy_ref: document.constants.policy_ref.clone(),
            step_kinds: document.step_kinds().into_iter().map(str::to_owned).collect(),
            inputs_schema_hash: document.inputs_schema_hash(),
            ir_path: ir_path.into(),
        }
    }

    /// The entry as JSON, keys in the specification's order.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut object = Object::new();
        object.insert("name".into(), self.name.as_str().into());
        object.insert("source_file".into(), self.source_file.as_str().into());
        object.insert("policyRef".into(), self.policy_ref.as_str().into());
        object.insert("step_kinds".into(), self.step_kinds.clone().into());
        object.insert("inputs_schema_hash".into(), self.inputs_schema_hash.as_str().into());
        object.insert("ir_path".into(), self.ir_path.as_str().into());
        Value::Object(object)
    }

    /// Reads an entry; `None` when a property is absent or of the wrong type.
    #[must_use]
    pub fn read(value: &Value) -> Option<ManifestEntry> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let kinds = value.get("step_kinds")?.as_array()?;
        Some(ManifestEntry {
            name: text("name")?,
            source_file: text("source_file")?,
            policy_ref: text("policyRef")?,
            step_kinds: kinds.iter().map(|kind| kind.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            inputs_schema_hash: text("inputs_schema_hash")?,
            ir_path: text("ir_path")?,
        })
    }
}

/// The file form: an array in the given order, laid out like a document.
#[must_use]
pub fn encode(entries: &[ManifestEntry]) -> String {
    let entries: Vec<Value> = entries.iter().map(ManifestEntry::to_value).collect();
    stave_canon::pretty_insertion_ascii(&Value::Array(entries))
}

/// A flow's name as a file name: runs of anything but letters, digits, `.`, `_` and `-` become one `-`,
/// none at the ends, and `flow` when nothing is left.
#[must_use]
pub fn file_name(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    let mut run = false;
    for character in name.chars() {
        if character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-') {
            slug.push(character);
            run = false;
        } else if !run {
            slug.push('-');
            run = true;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "flow".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_safe_file_names() {
        for (name, file) in [
            ("plant.monitor", "plant.monitor"),
            ("-a-", "a"),
            ("---", "flow"),
            ("my  flow", "my-flow"),
            ("a/../b", "a-..-b"),
            ("größe", "gr-e"),
            ("", "flow"),
        ] {
            assert_eq!(file_name(name), file, "{name}");
        }
    }

    #[test]
    fn an_entry_reads_back() {
        let entry = ManifestEntry {
            name: "a".into(),
            source_file: "a.wdl".into(),
            policy_ref: "a".into(),
            step_kinds: vec!["finish".into(), "switch".into()],
            inputs_schema_hash: "sha256:00".into(),
            ir_path: "flows/a.ir.json".into(),
        };
        assert_eq!(ManifestEntry::read(&entry.to_value()), Some(entry));
    }
}
