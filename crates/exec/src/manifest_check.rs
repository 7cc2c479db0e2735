//! A manifest compared with the documents that it lists (specification 004, section 7).
//!
//! Invariant: every difference is reported, each at the value of the manifest that differs, and nothing is read but what
//! the caller gives.

use std::collections::HashSet;

use stave_canon::{Object, Value};
use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, SourceId, Span};

use crate::manifest::ManifestEntry;
use crate::{Acceptance, Document, DocumentFault, fault};

/// The documents beside a manifest.
pub trait ManifestFiles {
    /// The text of a document, or why there is none.
    fn text(&mut self, ir_path: &str) -> Result<String, String>;

    /// The paths of the documents that are there, listed or not.
    fn present(&self) -> Vec<String>;
}

/// Compares a manifest with its documents.
#[must_use]
pub fn check_manifest(source: SourceId, text: &str, files: &mut dyn ManifestFiles) -> Vec<Diagnostic> {
    let value = match stave_canon::parse_untrusted(text) {
        Ok(value) => value,
        Err(error) => {
            let start = text.floor_char_boundary(error.offset.min(text.len()));
            let span = Span::new(source, start, text.ceil_char_boundary((start + 1).min(text.len())));
            return vec![Diagnostic::new(codes::EXEC_NOT_JSON, span, error.message)];
        }
    };
    let found = compare(&value, files).into_iter();
    let mut found: Vec<Diagnostic> = found.map(|found| fault::locate(source, text, found)).collect();
    stave_diag::sort(&mut found);
    found
}

fn compare(manifest: &Value, files: &mut dyn ManifestFiles) -> Vec<DocumentFault> {
    let Value::Array(entries) = manifest else {
        return vec![bad("", format!("a manifest is a list, and this is {}", manifest.kind()))];
    };
    let (mut found, mut names, mut paths) = (Vec::new(), HashSet::new(), HashSet::new());
    for (index, entry) in entries.iter().enumerate() {
        let at = format!("/{index}");
        let Some(object) = entry.as_object() else {
            found.push(bad(at, format!("an entry is an object, and this is {}", entry.kind())));
            continue;
        };
        for (key, seen) in [("name", &mut names), ("ir_path", &mut paths)] {
            if let Some(text) = object.get(key).and_then(Value::as_str)
                && !seen.insert(text.to_owned())
            {
                found.push(bad(format!("{at}/{key}"), format!("an entry before has the {key} {text:?} too")));
            }
        }
        check_entry(entry, object, &at, files, &mut found);
    }
    for path in files.present() {
        if !paths.contains(&path) {
            let fault = bad("", format!("`{path}` is beside the manifest and not in it"));
            found.push(fault.help("compile again: only flows of the last compile belong there"));
        }
    }
    found
}

fn check_entry(
    value: &Value,
    object: &Object,
    at: &str,
    files: &mut dyn ManifestFiles,
    found: &mut Vec<DocumentFault>,
) {
    let before = found.len();
    for key in ["name", "source_file", "policyRef", "inputs_schema_hash", "ir_path"] {
        match object.get(key) {
            Some(Value::String(_)) => {}
            Some(other) => {
                found.push(bad(format!("{at}/{key}"), format!("`{key}` is {}, not a text", other.kind())));
            }
            None => found.push(bad(at, format!("`{key}` is missing"))),
        }
    }
    let kinds = object.get("step_kinds").and_then(Value::as_array);
    if !kinds.is_some_and(|kinds| kinds.iter().all(|kind| kind.as_str().is_some())) {
        found.push(bad(at, "`step_kinds` is not a list of texts".to_owned()));
    }
    if let Some(path) = object.get("ir_path").and_then(Value::as_str)
        && (path.starts_with(['/', '\\'])
            || path.contains(':')
            || path.split(['/', '\\']).any(|part| part == ".."))
    {
        let fault = bad(format!("{at}/ir_path"), format!("`{path}` leads out of the manifest's folder"));
        found.push(fault.help("paths are relative to the manifest"));
    }
    let Some(entry) = ManifestEntry::read(value).filter(|_| found.len() == before) else { return };
    match document(&entry.ir_path, files) {
        Ok(document) => differences(&entry, &document, at, found),
        Err(reasons) => {
            let faults = reasons.into_iter().map(|reason| bad(format!("{at}/ir_path"), reason));
            found.extend(faults);
        }
    }
}

fn document(path: &str, files: &mut dyn ManifestFiles) -> Result<Document, Vec<String>> {
    let text = files.text(path).map_err(|reason| vec![format!("`{path}`: {reason}")])?;
    let value = stave_canon::parse_untrusted(&text)
        .map_err(|error| vec![format!("`{path}` is not JSON: {}", error.message)])?;
    crate::read(&value, Acceptance::Additive)
        .map_err(|faults| faults.iter().map(|fault| format!("`{path}` {fault}")).collect())
}

fn differences(entry: &ManifestEntry, document: &Document, at: &str, found: &mut Vec<DocumentFault>) {
    let wanted = ManifestEntry::of(document, entry.ir_path.as_str());
    for (key, listed, actual) in [
        ("name", &entry.name, &wanted.name),
        ("source_file", &entry.source_file, &wanted.source_file),
        ("policyRef", &entry.policy_ref, &wanted.policy_ref),
        ("inputs_schema_hash", &entry.inputs_schema_hash, &wanted.inputs_schema_hash),
    ] {
        if listed != actual {
            let message = format!("`{key}` is {listed:?}, and the document has {actual:?}");
            found.push(bad(format!("{at}/{key}"), message));
        }
    }
    if entry.step_kinds != wanted.step_kinds {
        let message = format!(
            "`step_kinds` are {}, and the document has {}",
            entry.step_kinds.join(", "),
            wanted.step_kinds.join(", ")
        );
        found.push(bad(format!("{at}/step_kinds"), message).help("list each kind once, sorted"));
    }
}

fn bad(pointer: impl Into<String>, message: String) -> DocumentFault {
    DocumentFault::new(codes::EXEC_BAD_MANIFEST, pointer, message)
}
