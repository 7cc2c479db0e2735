//! What came, written into the tests in the place of what was expected.

use stave_canon::Value;
use stave_diag::{Edit, Span};
use stave_flow::model::Expectation;
use stave_runtime::RunReport;

use super::compare;

/// The edits that make a test pass, as far as it names what came.
pub(super) fn edits(expect: &Expectation, turns: &[RunReport], hosts_called: u64) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut write = |span: Span, replacement: String| edits.push(Edit { span, replacement });
    let outputs: Option<Vec<Value>> = turns.iter().map(|turn| turn.result.as_ref().ok().cloned()).collect();
    if let (Some(wanted), Some(outputs)) = (&expect.output, outputs) {
        let output = match outputs.as_slice() {
            [sole] => sole.clone(),
            several => Value::Array(several.to_vec()),
        };
        if wanted.to_value() != output {
            // JSON is YAML, so one line of it fits every place.
            write(wanted.span, output.to_string());
        }
    }
    let failed = turns.last().and_then(|turn| turn.result.as_ref().err());
    if let (Some(code), Some(failed)) = (expect.error.as_ref(), failed)
        && code.as_str() != failed.failure.code.0
    {
        write(code.span, failed.failure.code.0.to_owned());
    }
    let counts = [(expect.model_calls, compare::model_calls(turns)), (expect.http_calls, hosts_called)];
    for (wanted, got) in counts {
        if let Some(wanted) = wanted.filter(|wanted| wanted.value != got) {
            write(wanted.span, got.to_string());
        }
    }
    edits
}

/// A text with edits made, the last first so that none moves another.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    let mut text = text.to_owned();
    for edit in edits {
        let range = edit.span.range();
        if text.get(range.clone()).is_some() {
            // A block ends with its line, which stays.
            let replaced = text.get(range.clone()).unwrap_or_default();
            let end = if replaced.ends_with('\n') { "\n" } else { "" };
            text.replace_range(range, &format!("{}{end}", edit.replacement));
        }
    }
    text
}
