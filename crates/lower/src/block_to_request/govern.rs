//! The gate before the wire: what a body holds that may not go where it is sent is redacted, refused or
//! routed, and always recorded.

use stave_block::{
    Destination, Finding, Gate, GateAction, GateRecord, GateVerdict, Position, Scope, SensitivityLabel,
    SensitivityPolicy, WirePrompt, find_sensitive, redaction,
};

use super::escaped::Escaped;
use super::splice::{Splice, Spliced};

/// A request after the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Governed {
    pub verdict: GateVerdict,
    /// The body with redactions; the body as it was when nothing was redacted.
    pub spliced: Spliced,
    pub records: Vec<GateRecord>,
}

/// What the gate decided about a body, before anything is taken out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatedBody {
    pub verdict: GateVerdict,
    /// The redactions, in the order of the positions.
    pub splices: Vec<Splice>,
    pub records: Vec<GateRecord>,
}

/// Labels every string of a body's positions and decides what may go out.
#[must_use]
pub fn govern_body(
    body: &str,
    wire: &WirePrompt,
    policy: &SensitivityPolicy,
    origin: &Scope,
    destination: Destination<'_>,
) -> Governed {
    let GatedBody { verdict, splices, records } = gate_body(body, wire, 0, policy, origin, destination);
    Governed { verdict, spliced: Spliced::new(body, splices), records }
}

/// The same for the positions from `first` on, for a caller that knows what was decided about those before:
/// a conversation grows at its end, and what a prefix holds does not change.
#[must_use]
pub fn gate_body(
    body: &str,
    wire: &WirePrompt,
    first: usize,
    policy: &SensitivityPolicy,
    origin: &Scope,
    destination: Destination<'_>,
) -> GatedBody {
    let mut gate = Gate::new(policy, origin, destination);
    let mut splices = Vec::new();
    for (block, position) in wire.positions.iter().enumerate().skip(first) {
        let strings = strings(body, position.range.start, position.range.end);
        let findings: Vec<(usize, Finding)> = strings
            .iter()
            .enumerate()
            .flat_map(|(at, string)| find_sensitive(&string.text).into_iter().map(move |found| (at, found)))
            .collect();
        let label = policy.label(SensitivityLabel::Public, position.provenance, &[]);
        if gate.whole(block, "provenance", label) == Some(GateAction::Redact) {
            let all = strings.iter().filter(|string| !string.text.is_empty());
            splices.extend(all.map(|string| Splice {
                range: string.in_body(&(0..string.text.len())),
                text: "[redacted]".to_owned(),
            }));
            continue;
        }
        for (at, finding) in findings {
            if gate.stretch(block, finding.rule, finding.label) == Some(GateAction::Redact) {
                let range = strings[at].in_body(&finding.range);
                splices.push(Splice { range, text: redaction(finding.rule) });
            }
        }
    }
    let (verdict, records) = gate.finished();
    GatedBody { verdict, splices, records }
}

/// The texts of a position as a reader sees them.
#[must_use]
pub fn position_texts(body: &str, position: &Position) -> Vec<String> {
    let strings = strings(body, position.range.start, position.range.end);
    strings.into_iter().map(|string| string.text.into_owned()).collect()
}

/// The strings of a JSON value that are values themselves, not keys or the words that say what a part is.
fn strings(body: &str, start: usize, end: usize) -> Vec<Escaped<'_>> {
    let mut strings = Vec::new();
    let bytes = body.as_bytes();
    let mut at = start;
    let mut key = "";
    while at < end {
        let Some(quote) = memchr::memchr(b'"', &bytes[at..end]) else { break };
        let open = at + quote + 1;
        let mut close = open;
        while let Some(stop) = bytes.get(close..end).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            close += stop;
            if bytes[close] == b'"' {
                break;
            }
            close += 2;
        }
        let close = if bytes.get(close) == Some(&b'"') { close.min(end) } else { end };
        let inner = &body[open..close];
        at = close + 1;
        if body[at.min(end)..end].trim_start().starts_with(':') {
            key = inner;
        } else if !["type", "role", "id", "tool_use_id", "tool_call_id", "call_id"].contains(&key) {
            strings.push(Escaped::read(inner, open));
        }
    }
    strings
}
