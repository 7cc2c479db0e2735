//! What a project knows: the files of its `knowledge/` folder as a hub with its constraints, decisions and
//! the documents they rest on.
//!
//! A YAML file holds `constraints` and `decisions`; every other file is evidence that they may name.

use std::collections::BTreeMap;

use stave_canon::{Object, Value, sha256_hex};
use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, SourceId};
use stave_flow::yaml::{self, Tree};
use stave_system::knowledge::{Assertion, Hub, entity, hub};
use stave_system::model::{ProvenanceKind, ProvenancePointer};
use stave_system::stable_json_fingerprint;

use super::Nodes;

/// A file of the folder, by its path below the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeFile {
    pub source: SourceId,
    pub name: String,
    pub text: String,
}

/// Everything that a project knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Knowledge {
    assertions: Vec<(Assertion, String, Object)>,
    /// Of every file, by name.
    hashes: BTreeMap<String, String>,
    /// Which files each assertion rests on; the file that holds it is one of them.
    evidence: BTreeMap<String, Vec<String>>,
}

/// Reads the files of a `knowledge/` folder, in any order.
#[must_use]
pub fn read_knowledge(files: &[KnowledgeFile]) -> (Knowledge, Vec<Diagnostic>) {
    let mut knowledge = Knowledge::default();
    let mut diagnostics = Vec::new();
    let mut files: Vec<&KnowledgeFile> = files.iter().collect();
    files.sort_by(|left, right| left.name.cmp(&right.name));
    for file in &files {
        knowledge.hashes.insert(file.name.clone(), sha256_hex(&file.text));
    }
    for file in files {
        if file.name.ends_with(".yaml") || file.name.ends_with(".yml") {
            knowledge.read(file, &mut diagnostics);
        }
    }
    knowledge.assertions.sort_by(|left, right| (left.0.word(), &left.1).cmp(&(right.0.word(), &right.1)));
    (knowledge, diagnostics)
}

impl Knowledge {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assertions.is_empty()
    }

    fn read(&mut self, file: &KnowledgeFile, diagnostics: &mut Vec<Diagnostic>) {
        let document = yaml::read(file.source, &file.text);
        diagnostics.extend(document.diagnostics);
        let Some(root) = document.root else { return };
        let Some(entries) = root.entries() else {
            let message = "a knowledge file is a mapping with `constraints` and `decisions`";
            diagnostics.push(Diagnostic::new(codes::WRONG_TYPE, root.span, message));
            return;
        };
        for entry in entries {
            let kind = match entry.key.value.as_str() {
                "constraints" => Assertion::Constraint,
                "decisions" => Assertion::Decision,
                other => {
                    let message = format!("`{other}` is not part of a knowledge file");
                    let help = "a knowledge file has `constraints` and `decisions`";
                    diagnostics
                        .push(Diagnostic::new(codes::UNKNOWN_FIELD, entry.key.span, message).help(help));
                    continue;
                }
            };
            let Some(items) = entry.value.items() else {
                let message = format!("`{}` must be a list, not {}", entry.key.value, entry.value.kind());
                diagnostics.push(Diagnostic::new(codes::WRONG_TYPE, entry.value.span, message));
                continue;
            };
            for item in items {
                self.assertion(kind, item, file, diagnostics);
            }
        }
    }

    fn assertion(
        &mut self,
        kind: Assertion,
        item: &Tree,
        file: &KnowledgeFile,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let text = |key: &str| item.get(key).and_then(Tree::text).map(|text| text.as_str().trim().to_owned());
        let Some(id) = text("id").filter(|id| !id.is_empty()) else {
            let message = format!("a {} needs an `id`", kind.word());
            diagnostics.push(Diagnostic::new(codes::MISSING_FIELD, item.span, message));
            return;
        };
        let known: &[&str] = match kind {
            Assertion::Constraint => {
                &["id", "subject", "predicate", "object", "scope", "kind", "summary", "polarity", "evidence"]
            }
            Assertion::Decision => &["id", "selected", "resolved", "replaces", "evidence"],
        };
        for entry in item.entries().unwrap_or_default() {
            let key = entry.key.value.as_str();
            if !known.contains(&key) {
                let message = format!("`{key}` is not part of a {}", kind.word());
                let help = format!("a {} has {}", kind.word(), known.join(", "));
                diagnostics.push(Diagnostic::new(codes::UNKNOWN_FIELD, entry.key.span, message).help(help));
            }
        }
        if let Some(word) = text("kind").filter(|word| !matches!(word.as_str(), "hard" | "soft")) {
            let message = format!("`kind` is `{word}`, and it must be `hard` or `soft`");
            let span = item.get("kind").map_or(item.span, |kind| kind.span);
            diagnostics.push(Diagnostic::new(codes::UNKNOWN_WORD, span, message));
        }
        let key = format!("{}:{id}", kind.word());
        if self.evidence.contains_key(&key) {
            let message = format!("the {} `{id}` is there twice", kind.word());
            diagnostics.push(Diagnostic::new(codes::ID_MISMATCH, item.span, message));
            return;
        }
        let mut evidence = vec![file.name.clone()];
        for named in item.get("evidence").and_then(Tree::items).unwrap_or_default() {
            let Some(name) = named.text().map(|text| text.as_str().trim()) else { continue };
            let full = format!("knowledge/{name}");
            if self.hashes.contains_key(&full) {
                evidence.push(full);
            } else {
                let message = format!("there is no file `{full}`");
                diagnostics.push(Diagnostic::new(codes::MISSING_FIELD, named.span, message));
            }
        }
        evidence.sort();
        evidence.dedup();
        let mut members = Object::new();
        match kind {
            Assertion::Constraint => {
                for field in ["subject", "predicate", "object", "scope", "kind"] {
                    members.insert(field.to_owned(), text(field).into());
                }
                // What a constraint is about is read in its summary, so it always has one.
                let said = || {
                    let words: Vec<String> =
                        ["subject", "predicate", "object"].into_iter().filter_map(&text).collect();
                    Some(words.join(" ")).filter(|words| !words.is_empty())
                };
                members.insert("summary".into(), text("summary").or_else(said).into());
                members.insert("polarity".into(), item.get("polarity").map_or(1_i64.into(), Tree::to_value));
                let meaning: Value = members.clone().into();
                members.insert("semantic_fingerprint".into(), short(&meaning).into());
            }
            Assertion::Decision => {
                for field in ["selected", "resolved"] {
                    let flag = item.get(field).map(Tree::to_value).and_then(|value| value.as_bool());
                    members.insert(field.to_owned(), flag.unwrap_or(false).into());
                }
                let targets = item.get("replaces").map_or_else(|| Value::Array(Vec::new()), Tree::to_value);
                members.insert("conflict_resolution_target_assertion_ids".into(), targets);
            }
        }
        members.insert("evidence_doc_ids".into(), evidence.clone().into());
        self.evidence.insert(key, evidence);
        self.assertions.push((kind, id, members));
    }

    /// Adds the hub and its entities; gives the hub's id.
    pub(super) fn nodes(
        &self,
        tenant_id: &str,
        repo_id: &str,
        snapshot_path: &str,
        nodes: &mut Nodes,
    ) -> String {
        let hashes: Value = self.hashes.iter().map(|(name, hash)| (name.as_str(), hash.as_str())).collect();
        let meaning = self
            .assertions
            .iter()
            .map(|(kind, id, members)| (format!("{}:{id}", kind.word()), Value::from(members.clone())));
        let constraints = self.assertions.iter().filter(|(kind, ..)| *kind == Assertion::Constraint);
        let content = Hub {
            assertion_ids: constraints.map(|(_, id, _)| id.clone()).collect(),
            semantic: Some(short(&meaning.collect::<Value>())),
            provenance: Some(short(&hashes)),
            snapshot_path: Some(snapshot_path.to_owned()),
        };
        let Some(node) = hub(tenant_id, repo_id, None, &content) else { return String::new() };
        let hub_id = nodes.add(node);
        for (kind, id, members) in &self.assertions {
            let rows = self.provenance(tenant_id, *kind, id);
            if let Some(node) = entity(tenant_id, repo_id, &hub_id, *kind, id, members.clone(), rows) {
                nodes.add(node);
            }
        }
        hub_id
    }

    fn provenance(&self, tenant_id: &str, kind: Assertion, id: &str) -> Vec<ProvenancePointer> {
        let files =
            self.evidence.get(&format!("{}:{id}", kind.word())).map(Vec::as_slice).unwrap_or_default();
        let rows = files.iter().map(|file| ProvenancePointer {
            tenant_id: tenant_id.to_owned(),
            kind: ProvenanceKind::DocChunk,
            source_id: file.clone(),
            locator: None,
            sha256: self.hashes.get(file).cloned(),
            metadata: Object::new(),
        });
        rows.collect()
    }

    /// What is kept of the layer for the runtime.
    #[must_use]
    pub fn snapshot(&self) -> Value {
        let of = |wanted: Assertion| -> Vec<Value> {
            let chosen = self.assertions.iter().filter(|(kind, ..)| *kind == wanted);
            chosen
                .map(|(_, id, members)| {
                    let mut row = members.clone();
                    row.insert("assertion_id".into(), id.as_str().into());
                    row.into()
                })
                .collect()
        };
        let documents: Value =
            self.hashes.iter().map(|(name, hash)| (name.as_str(), hash.as_str())).collect();
        Value::from_iter([
            ("canonical_constraints", Value::Array(of(Assertion::Constraint))),
            ("canonical_decisions", Value::Array(of(Assertion::Decision))),
            ("documents", documents),
        ])
    }
}

fn short(value: &Value) -> String {
    stable_json_fingerprint(value).chars().take(16).collect()
}
