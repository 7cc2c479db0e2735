//! The flow's own tests.

use super::fields::{Fields, Reader, wrong_type};
use super::{limits, node};
use crate::model::{Expectation, ExpectedStatus, FlowTest, Readable};
use crate::yaml::{Tree, YamlEntry};

pub(super) fn tests(reader: &mut Reader<'_>, entry: &YamlEntry) -> Vec<FlowTest> {
    let Some(items) = entry.value.items() else {
        wrong_type(reader, &entry.value, entry.key.span, "`tests` of the flow", "a list of tests");
        return Vec::new();
    };
    items.iter().filter_map(|item| test(reader, item)).collect()
}

fn test(reader: &mut Reader<'_>, tree: &Tree) -> Option<FlowTest> {
    let owner = match tree.get("name").and_then(Tree::text) {
        Some(name) => format!("the test `{}`", name.as_str()),
        None => "a test".to_owned(),
    };
    let mut fields = Fields::of(reader, tree, node::first_line(tree), owner.clone())?;
    let name = fields.required_text(reader, "name");
    let value = |entry: Option<&YamlEntry>| entry.map(|entry| entry.value.clone());
    let request = value(fields.required(reader, "request"));
    let recording = fields.text(reader, "recording");
    let models = value(fields.optional("models"));
    let http = value(fields.optional("http"));
    let decisions = value(fields.optional("decisions"));
    let expect = fields.required(reader, "expect").and_then(|entry| expectation(reader, entry, &owner));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(FlowTest { span, name, request, recording, models, http, decisions, expect, extra })
}

fn expectation(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Expectation> {
    let key_span = entry.key.span;
    let owner = format!("`expect` of {owner}");
    let mut fields = Fields::of(reader, &entry.value, key_span, owner.clone())?;
    let words = [("ok", ExpectedStatus::Ok), ("error", ExpectedStatus::Error)];
    let status = fields.optional("status");
    let status = status.map_or(Readable::Absent, |entry| Readable::of(fields.word(reader, entry, &words)));
    let output = fields.optional("output").map(|entry| entry.value.clone());
    let contains = fields.optional("contains").map(|entry| entry.value.clone());
    let error = fields.readable_text(reader, "error");
    let path = fields.texts(reader, "path");
    let skipped = fields.texts(reader, "skipped");
    let model_calls = fields.count(reader, "model_calls", 0);
    let http_calls = fields.count(reader, "http_calls", 0);
    let budget = fields.optional("budget").and_then(|entry| limits::budget(reader, entry, &owner));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Expectation {
        key_span,
        span,
        status,
        output,
        contains,
        error,
        path,
        skipped,
        model_calls,
        http_calls,
        budget,
        extra,
    })
}
