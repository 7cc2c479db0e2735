//! Hostile inputs that strict mode denies, and harmless ones that look like them and pass.
//!
//! The rows are data, one JSON object a line: `field` says where `text` is put, `allow` is what a project
//! would write to make its exception.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a row that cannot be read fails the test")]

use std::sync::Arc;

use stave_canon::{CountingIds, FixedClock, Ids, Timestamp, Value};
use stave_prompt::governance::{Content, Policy, PolicySet, Verdict};
use stave_prompt::plugins::{Plugin, PluginChange, PluginError};
use stave_prompt::{Pipeline, PromptIr, PromptIrBuilder, Stage};

const CLOCK: FixedClock = FixedClock(Timestamp::UNIX_EPOCH);
const HOSTILE: &str = include_str!("bypass/hostile.jsonl");
const HARMLESS: &str = include_str!("bypass/harmless.jsonl");

struct Row {
    field: String,
    text: String,
    kind: String,
    policies: PolicySet,
}

fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .map(|line| {
            let row = stave_canon::parse(line).unwrap();
            let member = |key: &str| row.get(key).and_then(Value::as_str).unwrap().to_owned();
            let texts = |key: &str| -> Vec<String> {
                let items = row.get(key).and_then(Value::as_array).unwrap_or_default();
                items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
            };
            let allowed_paths = texts("allow_path");
            let policies: Vec<Policy> = PolicySet::strict()
                .policies()
                .iter()
                .map(|policy| policy.clone().allow(allowed_paths.clone()))
                .collect();
            let strict = PolicySet::strict().mode();
            let policies = PolicySet::new(policies).with_mode(strict).with_allow(texts("allow"));
            Row { field: member("field"), text: member("text"), kind: member("kind"), policies }
        })
        .collect()
}

fn builder() -> PromptIrBuilder {
    PromptIrBuilder::new("architect", "Design the login")
}

fn built(builder: PromptIrBuilder) -> PromptIr {
    builder.build(&CountingIds::new(), &CLOCK).unwrap()
}

/// Adds the row's text to every prompt.
#[derive(Debug)]
struct Adds {
    field: String,
    text: String,
}

impl Plugin for Adds {
    fn name(&self) -> &str {
        "Adds"
    }

    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<PluginChange>, PluginError> {
        let mut changed = ir.clone_with_id(ids);
        let text = self.text.clone();
        match self.field.as_str() {
            "plugin_constraint" => Arc::make_mut(&mut changed.constraints).push(text),
            "plugin_reference" => Arc::make_mut(&mut changed.context_refs).push(text),
            "plugin_metadata" => {
                changed.metadata.insert("note".to_owned(), text.into());
            }
            other => panic!("no field {other}"),
        }
        Ok(Some(PluginChange::new(changed, "addition", "Added a text")))
    }
}

fn verdict(row: &Row) -> Verdict {
    let text = row.text.as_str();
    match row.field.as_str() {
        "context_ref" => row.policies.check(&built(builder().add_context_ref(text))),
        "constraint" => row.policies.check(&built(builder().add_constraint(text))),
        "constraints" => {
            row.policies.check(&built(text.lines().fold(builder(), PromptIrBuilder::add_constraint)))
        }
        "intent" => row.policies.check(&built(PromptIrBuilder::new("architect", text))),
        "metadata" => row.policies.check(&built(builder().add_metadata("note", text))),
        "content" => row.policies.check_content(&[Content { reference: "file:notes.md", path: None, text }]),
        field => {
            let plugin = Adds { field: field.to_owned(), text: text.to_owned() };
            let pipeline = Pipeline::new(Some(row.policies.clone())).with_plugin(Box::new(plugin));
            let outcome = pipeline.process(&built(builder()), &CountingIds::new(), &CLOCK);
            assert_eq!(outcome.denied_at, Some(Stage::Plugin("Adds".into())), "{text:?}");
            Verdict { violations: outcome.violations.to_vec() }
        }
    }
}

#[test]
fn every_hostile_input_is_denied() {
    let rows = rows(HOSTILE);
    assert!(rows.len() >= 120, "{} rows", rows.len());
    let passed: Vec<String> = rows
        .iter()
        .filter(|row| verdict(row).approved())
        .map(|row| format!("{} {}: {:?}", row.kind, row.field, row.text))
        .collect();
    assert!(passed.is_empty(), "{} of {} got through:\n{}", passed.len(), rows.len(), passed.join("\n"));
}

#[test]
fn the_place_of_every_hit_is_in_the_original() {
    for row in rows(HOSTILE) {
        for violation in verdict(&row).violations {
            assert!(violation.item.get(violation.range.clone()).is_some(), "{:?}", row.text);
        }
    }
}

#[test]
fn every_harmless_look_alike_passes() {
    let rows = rows(HARMLESS);
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let denied: Vec<String> = rows
        .iter()
        .flat_map(|row| verdict(row).violations.into_iter().map(move |violation| (row, violation)))
        .map(|(row, violation)| format!("{}: {:?}: {violation}", row.kind, row.text))
        .collect();
    assert!(denied.is_empty(), "{} denied or flagged:\n{}", denied.len(), denied.join("\n"));
}

#[test]
fn rm_is_flagged_whatever_the_order_of_its_flags() {
    for command in [
        "rm -rf build",
        "rm -fr build",
        "rm -r -f build",
        "rm -f -r build",
        "rm -Rf build",
        "rm -rvf build",
        "rm -v -f --one-file-system -R build",
        "rm --recursive --force build",
        "rm --force -r build",
        "rm -f --no-preserve-root --recursive /",
    ] {
        let ir = built(PromptIrBuilder::new("architect", format!("Run {command} first")));
        let verdict = PolicySet::strict().check(&ir);
        assert!(verdict.approved() && !verdict.violations.is_empty(), "{command}");
    }
}

#[test]
fn rm_in_a_list_of_words_stands_for_every_order_of_its_flags() {
    let policies = r#"{"policies": [{"name": "mine", "type": "intent", "forbidden_keywords": ["rm -fr"], "action": "deny"}]}"#;
    let strict = PolicySet::from_value(&stave_canon::parse(policies).unwrap()).unwrap();
    for (command, is_denied) in [
        ("rm -rf build", true),
        ("rm -fr build", true),
        ("rm -r -f build", true),
        ("rm --force --recursive build", true),
        ("rm -r build", false),
        ("rm -f build", false),
        ("farm -rf build", false),
    ] {
        let ir = built(PromptIrBuilder::new("architect", format!("Run {command} first")));
        assert_eq!(strict.check(&ir).approved(), !is_denied, "{command}");
    }
}

#[test]
fn a_phrase_is_denied_until_the_project_allows_it() {
    let ir = built(builder().add_constraint("Must not bypass auth"));
    assert!(!PolicySet::strict().check(&ir).approved());
    let allowed = PolicySet::strict().with_allow(vec!["must not bypass auth".to_owned()]);
    assert!(allowed.check(&ir).approved());
    let more = built(builder().add_constraint("Must not bypass auth. Bypass the review."));
    assert!(!allowed.check(&more).approved());
}
