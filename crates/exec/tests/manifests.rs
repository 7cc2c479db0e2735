//! A manifest and its documents: each difference is one finding.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use std::collections::BTreeMap;

use stave_canon::{Object, Value, parse};
use stave_diag::SourceId;
use stave_exec::manifest::{self, ManifestEntry};
use stave_exec::{Acceptance, ManifestFiles, check_manifest, read};

const DOCUMENT: &str = include_str!("migration/1.0.0.ir.json");
const PATH: &str = "flows/plant.monitor.ir.json";

#[derive(Clone)]
struct Files(BTreeMap<String, String>);

impl ManifestFiles for Files {
    fn text(&mut self, ir_path: &str) -> Result<String, String> {
        self.0.get(ir_path).cloned().ok_or_else(|| "there is no such file".to_owned())
    }

    fn present(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

fn files() -> Files {
    Files([(PATH.to_owned(), DOCUMENT.to_owned())].into())
}

fn entry() -> Object {
    let document = read(&parse(DOCUMENT).expect("it is JSON"), Acceptance::Exact).expect("it is valid");
    ManifestEntry::of(&document, PATH).to_value().as_object().cloned().expect("an object")
}

/// The findings of a manifest of these entries, with what each underlines.
fn found(entries: &[Object], mut files: Files) -> Vec<(&'static str, String)> {
    let text = Value::Array(entries.iter().cloned().map(Value::Object).collect()).to_string();
    let found = check_manifest(SourceId(0), &text, &mut files);
    found
        .iter()
        .map(|one| (one.code.0, text.get(one.primary.range()).unwrap_or_default().to_owned()))
        .collect()
}

#[test]
fn a_manifest_of_its_documents_has_no_findings() {
    assert_eq!(found(&[entry()], files()), []);
    let mut files = files();
    let read: Vec<ManifestEntry> =
        [entry()].into_iter().filter_map(|entry| ManifestEntry::read(&Value::Object(entry))).collect();
    assert_eq!(check_manifest(SourceId(0), &manifest::encode(&read), &mut files), []);
}

#[test]
fn each_value_that_differs_is_one_finding_at_its_place() {
    for (key, value) in [
        ("name", r#""plant""#),
        ("source_file", r#""other.wdl""#),
        ("policyRef", r#""maint""#),
        ("step_kinds", r#"["http.get"]"#),
        ("step_kinds", r#"["dsl.emit","log.info"]"#),
        ("inputs_schema_hash", r#""sha256:00""#),
        ("name", "7"),
    ] {
        let mut changed = entry();
        changed.insert(key.to_owned(), parse(value).expect("it is JSON"));
        assert_eq!(found(&[changed], files()), [("exec-bad-manifest", first(value))], "{key} = {value}");
    }
    for key in entry().keys() {
        let mut changed = entry();
        changed.shift_remove(key);
        let found = found(&[changed], files());
        let is_path = key == "ir_path";
        // Without its path the document is one that no entry lists.
        assert_eq!(found.len(), if is_path { 2 } else { 1 }, "{key}: {found:?}");
    }
}

/// A list is marked by its first character.
fn first(value: &str) -> String {
    if value.starts_with('[') { "[".to_owned() } else { value.to_owned() }
}

#[test]
fn documents_that_are_missing_unlisted_or_outside_are_findings() {
    let gone = Files(BTreeMap::new());
    assert_eq!(found(&[entry()], gone).len(), 1);
    assert_eq!(found(&[], files()).len(), 1);
    assert_eq!(found(&[entry(), entry()], files()).len(), 2, "name and path are there twice");
    for path in ["../flows/plant.ir.json", "/flows/plant.ir.json", "C:/plant.ir.json", "flows\\..\\x.ir.json"]
    {
        let mut outside = entry();
        outside.insert("ir_path".to_owned(), path.into());
        assert_eq!(found(&[outside], Files(BTreeMap::new())).len(), 1, "{path}");
    }
    let mut broken = files();
    broken.0.insert(PATH.to_owned(), DOCUMENT.replace("\"max\": 2", "\"max\": -2"));
    assert_eq!(found(&[entry()], broken).len(), 3, "each node is a violation");
}

#[test]
fn what_is_no_manifest_is_a_finding() {
    for (text, code) in [("{}", "exec-bad-manifest"), ("[7]", "exec-bad-manifest"), ("[", "exec-not-json")] {
        let found = check_manifest(SourceId(0), text, &mut Files(BTreeMap::new()));
        assert_eq!(found.iter().map(|one| one.code.0).collect::<Vec<_>>(), [code], "{text}");
    }
}
