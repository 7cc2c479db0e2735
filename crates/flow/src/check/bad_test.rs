//! The flow's own tests can be run, and can pass.

use std::collections::HashMap;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};
use stave_operations::HUMAN_APPROVE;

use super::subject::{Subject, listed, suggest};
use crate::model::{Expectation, ExpectedStatus, FlowTest, Text};
use crate::yaml::{Tree, TreeValue};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut names: HashMap<&str, Span> = HashMap::new();
    for test in &subject.flow.tests {
        if let Some(name) = &test.name
            && let Some(first) = names.insert(name.as_str(), name.span)
        {
            let message = format!("two tests are named `{}`", name.as_str());
            diagnostics
                .push(bad(name.span, message).label(first, "the first one").help("rename one of them"));
        }
        let turns = turns(test, diagnostics);
        if let Some(recording) = &test.recording
            && (recording.as_str().starts_with('/') || recording.as_str().contains('\\'))
        {
            let message = "`recording` must be relative to the flow's file, with `/` between folders";
            diagnostics.push(bad(recording.span, message.to_owned()));
        }
        for (field, tree) in [("models", &test.models), ("http", &test.http)] {
            if let Some(tree) = tree.as_ref().filter(|tree| tree.items().is_none()) {
                let message = format!("`{field}` must be a list of replies, and this is {}", tree.kind());
                diagnostics.push(bad(tree.span, message));
            }
        }
        decisions(subject, test, diagnostics);
        if let Some(expect) = &test.expect {
            expectation(subject, expect, turns.as_deref(), diagnostics);
            missing_fields(subject, expect, turns.as_deref().unwrap_or_default(), diagnostics);
        }
    }
}

/// Decisions are about nodes that ask a person: about all questions of a node, or about one by its address, such as
/// `each[3].ask`.
fn decisions(subject: &Subject<'_>, test: &FlowTest, diagnostics: &mut Vec<Diagnostic>) {
    let Some(decisions) = &test.decisions else { return };
    let Some(entries) = decisions.entries() else {
        let message = format!("`decisions` must be a mapping, and this is {}", decisions.kind());
        diagnostics.push(bad(decisions.span, message));
        return;
    };
    for entry in entries {
        let (key, id) = (entry.key.as_str(), asked_node(entry.key.as_str()));
        let asks = subject.flow.nodes.get(id).is_some_and(|node| node.op() == Some(HUMAN_APPROVE.name));
        let is_certain = subject
            .flow
            .nodes
            .get(id)
            .map_or_else(|| !subject.flow.nodes.is_unreadable(id), |node| !node.transform.is_unreadable());
        if !asks && is_certain {
            let message =
                format!("`{key}` is not a node that asks a person, nor the address of its question");
            let help = format!(
                "name a node with the operation `{}`, or one of its questions such as `LIST[0].{id}`",
                HUMAN_APPROVE.name
            );
            diagnostics.push(bad(entry.key.span, message).help(help));
        }
        if !matches!(entry.value.text().map(Text::as_str), Some("approve" | "deny")) {
            diagnostics.push(bad(entry.value.span, "a person can `approve` or `deny`".to_owned()));
        }
    }
}

/// The node that asks at an address: the last one of `each[3].ask`, whose other parts are nodes with their items or calls.
/// What is no address is the name of a node.
fn asked_node(address: &str) -> &str {
    let Some((before, node)) = address.rsplit_once("].") else { return address };
    let is_call = |step: &str| {
        step.rsplit_once('[').is_some_and(|(node, number)| {
            !node.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if before.split("].").all(is_call) { node } else { address }
}

fn bad(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(codes::BAD_TEST, span, message)
}

/// The requests of a test, when all of them are mappings.
fn turns<'flow>(test: &'flow FlowTest, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<&'flow Tree>> {
    let request = test.request.as_ref()?;
    let turns: Vec<&Tree> = match request.items() {
        Some(items) => items.iter().collect(),
        None => vec![request],
    };
    if turns.is_empty() {
        diagnostics.push(bad(request.span, "the test has no request".to_owned()));
        return None;
    }
    let wrong = turns.iter().find(|turn| !matches!(turn.value, TreeValue::Mapping(_)));
    if let Some(wrong) = wrong {
        let message = format!("a request is a mapping, and this is {}", wrong.kind());
        diagnostics.push(bad(wrong.span, message));
        return None;
    }
    Some(turns)
}

/// A run that must succeed needs every required field.
fn missing_fields(
    subject: &Subject<'_>,
    expect: &Expectation,
    turns: &[&Tree],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let may_fail = !expect.error.is_absent() || expect.status.is_unreadable() || expects_failure(expect);
    if may_fail {
        return;
    }
    for turn in turns {
        let required = subject.flow.context.requires.iter().map(Text::as_str);
        let missing: Vec<&str> = required.filter(|field| turn.get(field).is_none()).collect();
        if !missing.is_empty() {
            let message = format!("the request lacks {}, and the flow requires it", listed(missing));
            diagnostics.push(bad(turn.span, message).help("add it, or expect `status: error`"));
        }
    }
}

fn expectation(
    subject: &Subject<'_>,
    expect: &Expectation,
    turns: Option<&[&Tree]>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if let (Some(status), Some(output)) =
        (expect.status.as_ref(), expect.output.as_ref().or(expect.contains.as_ref()))
        && status.value == ExpectedStatus::Error
    {
        diagnostics.push(
            bad(output.span, "a run that fails has no output".to_owned())
                .label(status.span, "the run is expected to fail"),
        );
    }
    if let (Some(error), Some(status)) = (expect.error.as_ref(), expect.status.as_ref())
        && status.value == ExpectedStatus::Ok
    {
        let message = "a run that succeeds has no error".to_owned();
        diagnostics.push(bad(error.span, message).label(status.span, "the run is expected to succeed"));
    }
    if let Some(error) = expect.error.as_ref().filter(|error| stave_diag::lookup(error.as_str()).is_none()) {
        let message = format!("there is no code `{}`", error.as_str());
        diagnostics.push(bad(error.span, message).help("`stave explain` lists the codes"));
    }
    if let (Some(turns), Some(output)) = (turns, &expect.output)
        && turns.len() > 1
        && output.items().is_none_or(|items| items.len() != turns.len())
    {
        let message = format!("the test has {} turns, and `output` is not a list of as many", turns.len());
        diagnostics.push(bad(output.span, message));
    }
    let known: Vec<&str> = subject.nodes().map(|node| node.id.as_str()).collect();
    for name in expect.path.iter().chain(&expect.skipped).flatten() {
        if !known.contains(&name.as_str()) && !subject.flow.nodes.is_unreadable(name.as_str()) {
            let message = format!("there is no node `{}`", name.as_str());
            let diagnostic = bad(name.span, message);
            diagnostics.push(suggest(diagnostic, name.as_str(), name.span, &known, |listed| {
                format!("the nodes are {listed}")
            }));
        }
    }
}

fn expects_failure(expect: &Expectation) -> bool {
    expect.status.as_ref().is_some_and(|status| status.value == ExpectedStatus::Error)
}
