//! Findings of the checker with places that a browser understands.

use stave_canon::{Object, Value};
use stave_diag::{Diagnostic, Severity};
use stave_flow::model::Flow;

use super::places::Places;

/// The findings about a text.
pub(super) fn findings(diagnostics: &[Diagnostic], flow: Option<&Flow>, places: &Places) -> Value {
    Value::Array(diagnostics.iter().map(|found| finding(found, flow, places)).collect())
}

fn finding(found: &Diagnostic, flow: Option<&Flow>, places: &Places) -> Value {
    let mut members = places.range_of(found.primary.range());
    let mut put = |key: &str, value: Value| {
        members.insert(key.to_owned(), value);
    };
    put("code", found.code.0.into());
    put("severity", found.severity.word().into());
    put("message", found.message.as_str().into());
    put("label", found.primary_label.clone().into());
    put("help", found.help.clone().into());
    put("pointer", found.pointer.clone().into());
    put("node", flow.and_then(|flow| node_of(found, flow)).into());
    let labels = found.labels.iter().map(|label| {
        let mut members = places.range_of(label.span.range());
        members.insert("message".into(), label.message.as_str().into());
        Value::Object(members)
    });
    put("labels", Value::Array(labels.collect()));
    let fix = found.fix.as_ref().map(|fix| {
        let edits = fix.edits.iter().map(|edit| {
            let mut members = places.range_of(edit.span.range());
            members.insert("replacement".into(), edit.replacement.as_str().into());
            Value::Object(members)
        });
        Value::from_iter([
            ("title", Value::from(fix.title.as_str())),
            ("edits", Value::Array(edits.collect())),
        ])
    });
    put("fix", fix.unwrap_or_default());
    members.into()
}

/// The node whose lines a finding is in.
pub(super) fn node_of<'f>(found: &Diagnostic, flow: &'f Flow) -> Option<&'f str> {
    let at = found.primary.start;
    let holds = |start: u32, end: u32| (start..=end).contains(&at);
    let node = flow.nodes.values().find(|node| holds(node.id.span.start, node.span.end))?;
    Some(node.id.as_str())
}

/// How many findings there are of each severity.
pub(super) fn summary(diagnostics: &[Diagnostic]) -> Value {
    let count = |severity| diagnostics.iter().filter(|found| found.severity == severity).count();
    Object::from_iter([
        ("errors".to_owned(), count(Severity::Error).into()),
        ("warnings".to_owned(), count(Severity::Warning).into()),
        ("notes".to_owned(), count(Severity::Note).into()),
    ])
    .into()
}
