//! Findings of the checker with places that a browser understands.

use stave_diag::{Diagnostic, Severity};
use stave_flow::model::Flow;

use super::places::Places;
use crate::api::text_types::{Finding, FindingCounts, FindingLabel, FindingSeverity, Fix, Range, TextEdit};

/// The findings about a text.
pub(super) fn findings(diagnostics: &[Diagnostic], flow: Option<&Flow>, places: &Places) -> Vec<Finding> {
    diagnostics.iter().map(|found| finding(found, flow, places)).collect()
}

fn finding(found: &Diagnostic, flow: Option<&Flow>, places: &Places) -> Finding {
    let Range { offset, end_offset, line, column, end_line, end_column } =
        places.range_of(found.primary.range());
    let labels = found.labels.iter().map(|label| {
        let Range { offset, end_offset, line, column, end_line, end_column } =
            places.range_of(label.span.range());
        let message = label.message.clone();
        FindingLabel { offset, end_offset, line, column, end_line, end_column, message }
    });
    let fix = found.fix.as_ref().map(|fix| {
        let edits = fix.edits.iter().map(|edit| {
            let Range { offset, end_offset, line, column, end_line, end_column } =
                places.range_of(edit.span.range());
            let replacement = edit.replacement.clone();
            TextEdit { offset, end_offset, line, column, end_line, end_column, replacement }
        });
        Fix { title: fix.title.clone(), edits: edits.collect() }
    });
    Finding {
        offset,
        end_offset,
        line,
        column,
        end_line,
        end_column,
        code: found.code.0.to_owned(),
        severity: match found.severity {
            Severity::Error => FindingSeverity::Error,
            Severity::Warning => FindingSeverity::Warning,
            Severity::Note => FindingSeverity::Note,
        },
        message: found.message.clone(),
        label: found.primary_label.clone().into(),
        help: found.help.clone().into(),
        pointer: found.pointer.clone().into(),
        node: flow.and_then(|flow| node_of(found, flow)).map(str::to_owned).into(),
        labels: labels.collect(),
        fix: fix.into(),
    }
}

/// The node whose lines a finding is in.
pub(super) fn node_of<'f>(found: &Diagnostic, flow: &'f Flow) -> Option<&'f str> {
    let at = found.primary.start;
    let holds = |start: u32, end: u32| (start..=end).contains(&at);
    let node = flow.nodes.values().find(|node| holds(node.id.span.start, node.span.end))?;
    Some(node.id.as_str())
}

/// How many findings there are of each severity.
pub(super) fn summary(diagnostics: &[Diagnostic]) -> FindingCounts {
    let count = |severity| diagnostics.iter().filter(|found| found.severity == severity).count() as u64;
    FindingCounts {
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        notes: count(Severity::Note),
    }
}
