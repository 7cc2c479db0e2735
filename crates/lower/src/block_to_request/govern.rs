//! The gate before the wire: what a body holds that may not go where it is sent is redacted, refused or
//! routed, and always recorded.
//!
//! Invariant: every text of a body is judged, wherever it stands: values, keys and numbers, inside the positions and
//! outside of them, on their own and joined with the texts that a reader sees after them.

use std::ops::Range;

use stave_block::{
    Destination, Gate, GateAction, GateRecord, GateVerdict, Position, Scope, SensitivityLabel,
    SensitivityPolicy, WirePrompt, find_sensitive, redaction,
};

use super::splice::{Splice, Spliced};
use super::texts::{BodyText, TextKind, body_texts};

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

/// Labels every text of a body and decides what may go out.
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

/// The same without the positions before `first`, for a caller that knows what was decided about those: a
/// conversation grows at its end, and what a prefix holds does not change. What stands outside of all positions is
/// part of no prefix and is judged every time.
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
    let mut splices: Vec<Splice> = Vec::new();
    let mut texts: Vec<(usize, BodyText<'_>)> = Vec::new();
    for (block, place) in places(body, wire, first) {
        let found = body_texts(body, &place);
        if let Some(position) = wire.positions.get(block) {
            let label = policy.label(SensitivityLabel::Public, position.provenance, &[]);
            if gate.whole(block, "provenance", label) == Some(GateAction::Redact) {
                let shown = found.iter().filter(|text| text.is_shown() && !text.string.text.is_empty());
                splices.extend(shown.map(|text| text.redacted(&(0..text.string.text.len()), "[redacted]")));
                continue;
            }
        }
        texts.extend(found.into_iter().map(|text| (block, text)));
    }
    for (block, text) in &texts {
        for finding in find_sensitive(&text.string.text) {
            if gate.stretch(*block, finding.rule, finding.label) == Some(GateAction::Redact) {
                splices.push(text.redacted(&finding.range, &redaction(finding.rule)));
                if text.kind == TextKind::Number {
                    break;
                }
            }
        }
    }
    joined(&texts, &mut gate, &mut splices);
    let (verdict, records) = gate.finished();
    GatedBody { verdict, splices, records }
}

/// Judges what the texts say one after the other: a secret in two parts is one to whoever reads both. A rule may ask
/// for the edge of a word, which the text before a pair would hide, so each pair is also judged on its own.
fn joined(texts: &[(usize, BodyText<'_>)], gate: &mut Gate<'_>, splices: &mut Vec<Splice>) {
    let is_value = |text: &BodyText<'_>| text.kind == TextKind::Value && text.is_shown();
    let shown: Vec<&(usize, BodyText<'_>)> = texts.iter().filter(|(_, text)| is_value(text)).collect();
    if shown.len() < 2 {
        return;
    }
    let no_edge: fn(usize) -> bool = |_| false;
    for has_edge in [no_edge, |index: usize| index.is_multiple_of(2), |index: usize| !index.is_multiple_of(2)]
    {
        let mut taken: Vec<Range<usize>> = splices.iter().map(|splice| splice.range.clone()).collect();
        taken.sort_by_key(|range| range.start);
        let mut all = String::new();
        let mut starts = Vec::with_capacity(shown.len());
        for (index, (_, text)) in shown.iter().enumerate() {
            if has_edge(index) {
                all.push('\n');
            }
            starts.push(all.len());
            all.push_str(&text.string.text);
        }
        for finding in find_sensitive(&all) {
            let first = starts.partition_point(|start| *start <= finding.range.start).saturating_sub(1);
            let last = starts.partition_point(|start| *start < finding.range.end).saturating_sub(1);
            if first == last {
                continue;
            }
            let mut is_redacted = false;
            for (index, (block, text)) in shown.iter().enumerate().take(last + 1).skip(first) {
                let from = finding.range.start.saturating_sub(starts[index]);
                let to = (finding.range.end - starts[index]).min(text.string.text.len());
                if from >= to {
                    continue;
                }
                let splice = text.redacted(&(from..to), &redaction(finding.rule));
                let after = taken.partition_point(|range| range.end <= splice.range.start);
                // What is taken out already is gone.
                if taken.get(after).is_some_and(|range| range.start < splice.range.end) {
                    continue;
                }
                if !is_redacted
                    && gate.stretch(*block, finding.rule, finding.label) != Some(GateAction::Redact)
                {
                    break;
                }
                is_redacted = true;
                splices.push(splice);
            }
        }
    }
}

/// Where the texts to judge stand: positions from `first` on by their number, and everything outside of all positions
/// by the number after the last.
fn places(body: &str, wire: &WirePrompt, first: usize) -> Vec<(usize, Range<usize>)> {
    let mut positions: Vec<(usize, Range<usize>)> =
        wire.positions.iter().enumerate().map(|(block, position)| (block, position.range.clone())).collect();
    positions.sort_by_key(|(_, range)| (range.start, std::cmp::Reverse(range.end)));
    let mut places = Vec::with_capacity(2 * positions.len() + 1);
    let mut at = 0;
    for (block, range) in positions {
        if range.end <= at {
            // Inside of another position, which is judged as a whole.
            continue;
        }
        places.push((wire.positions.len(), at..range.start.max(at)));
        if block >= first {
            places.push((block, range.start.max(at)..range.end));
        }
        at = range.end;
    }
    places.push((wire.positions.len(), at..body.len()));
    places
}

/// The texts of a position as a reader sees them, keys included.
#[must_use]
pub fn position_texts(body: &str, position: &Position) -> Vec<String> {
    let texts = body_texts(body, &position.range);
    texts
        .into_iter()
        .filter(|text| !text.is_word_of_a_machine())
        .map(|text| text.string.text.into_owned())
        .collect()
}

/// The texts of a body that stand in none of its positions, keys left out.
#[must_use]
pub fn outside_texts(body: &str, wire: &WirePrompt) -> Vec<String> {
    let places = places(body, wire, wire.positions.len());
    let texts = places.into_iter().flat_map(|(_, place)| body_texts(body, &place));
    texts.filter(BodyText::is_shown).map(|text| text.string.text.into_owned()).collect()
}

impl BodyText<'_> {
    /// Replaces a stretch of the text. A number becomes a string.
    fn redacted(&self, range: &Range<usize>, with: &str) -> Splice {
        match self.kind {
            TextKind::Number => Splice {
                range: self.string.in_body(&(0..self.string.text.len())),
                text: format!("\"{with}\""),
            },
            TextKind::Key | TextKind::Value => {
                Splice { range: self.string.in_body(range), text: with.to_owned() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_wire;
    use stave_block::Surface;

    const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

    fn sent(surface: Surface, body: &str) -> String {
        let wire = read_wire(body, Some(surface)).unwrap();
        let (policy, scope) = (SensitivityPolicy::default(), Scope::new("a"));
        let governed = govern_body(body, &wire, &policy, &scope, Destination::External);
        assert!(!governed.records.is_empty(), "{body}");
        governed.spliced.body
    }

    #[test]
    fn a_secret_is_found_wherever_it_stands() {
        for template in [
            r#"{"model":"m","messages":[{"role":"assistant","content":"S"}]}"#,
            r#"{"model":"m","messages":[{"role":"developer","content":"S"}]}"#,
            r#"{"model":"m","messages":[{"role":"user","name":"S","content":"hi"}]}"#,
            r#"{"model":"m","Messages":[{"role":"user","Content":"S"}]}"#,
            r#"{"model":"m","messages":[],"metadata":{"a":"S"}}"#,
            r#"{"model":"m","messages":[],"metadata":{"S":"a"}}"#,
            r#"{"model":"m","messages":[],"user":"S","stop":["S"]}"#,
            r#"{"model":"m","messages":[],"prediction":{"type":"content","content":"S"}}"#,
            r#"{"model":"m","messages":[],"prompt":{"id":"p","variables":{"x":"S"}}}"#,
            r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"S","type":"S","function":{"name":"f","arguments":"{}"}}]}]}"#,
            r#"{"model":"m","tools":[{"name":"f","description":"S","input_schema":{"properties":{"S":{"enum":["S"]}}}}],"messages":[]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_use","id":"i","name":"f","input":{"id":"S","type":"S"}}]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"h","cache_control":{"type":"ephemeral","x":"S"}}]}]}"#,
            r#"{"model":"m","input":[{"type":"zzz","v":"S"}],"instructions":"S","text":{"format":{"schema":"S"}}}"#,
            r#"{"model":"m","system":[{"type":"text","text":"S"}],"messages":[{"role":"S","content":"a"}]}"#,
        ] {
            for surface in [Surface::OpenAiChat, Surface::OpenAiResponses, Surface::AnthropicMessages] {
                let body = template.replace('S', SECRET);
                let sent = sent(surface, &body);
                assert!(!sent.contains(SECRET) && stave_canon::parse(&sent).is_ok(), "{sent}");
                let escaped = body.replace(SECRET, r"AK\u0049AIOSFODNN7EX\u0041MPLE");
                let sent = self::sent(surface, &escaped);
                assert!(!sent.contains("IOSFODNN7EX"), "{sent}");
            }
        }
    }

    #[test]
    fn numbers_and_texts_in_several_parts_are_found() {
        let number =
            r#"{"model":"m","messages":[],"metadata":{"card":4111111111111111,"n":[5555555555554444]}}"#;
        let sent_number = sent(Surface::OpenAiChat, number);
        assert!(!sent_number.contains("1111") && !sent_number.contains("4444"), "{sent_number}");
        assert!(stave_canon::parse(&sent_number).is_ok());
        for split in [
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"AKIAIOSF"},{"type":"text","text":"ODNN7EXAMPLE"}]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":"AKIAIOSF"},{"role":"user","content":"ODNN7EXAMPLE"}]}"#,
            r#"{"model":"m","system":["AKIA","IOSFODNN7","EXAMPLE"],"messages":[]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":["hi","AKIAIOSF","ODNN7EXAMPLE","ho"]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":["AKIAIOSF","ODNN7EXAMPLE","ho"]}]}"#,
        ] {
            let sent = sent(Surface::AnthropicMessages, split);
            assert!(!sent.contains("ODNN7") && stave_canon::parse(&sent).is_ok(), "{sent}");
        }
    }
}
