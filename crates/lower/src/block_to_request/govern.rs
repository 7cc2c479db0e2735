//! The gate before the wire: content that the destination of a body does not accept is redacted, refused or
//! routed, and always recorded.
//!
//! Invariants: every text of a body is judged, wherever it is: values, keys and numbers, inside the positions and
//! outside of them, on their own and joined with the texts that a reader sees after them. Signed text, ciphertext and
//! bytes of files are never edited; what would be taken out of them refuses the request.

use std::ops::Range;

use stave_block::{
    DataScope, Destination, Gate, GateAction, GateRecord, GateRules, GateVerdict, JoinedText, Position,
    Sensitivity, SensitivityPolicy, WirePrompt, redaction,
};
use stave_canon::Value;

use super::sealed::{Seal, is_chance};
use super::splice::{Splice, Spliced};
use super::texts::{BodyText, Joined, TextKind, body_texts};

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

/// Judging took longer than the caller had time for. Nothing was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("judging the request took too long")]
pub struct JudgedTooLong;

/// Labels every text of a body and decides what may go out.
#[must_use]
pub fn govern_body(
    body: &str,
    wire: &WirePrompt,
    policy: &SensitivityPolicy,
    origin: &DataScope,
    destination: Destination<'_>,
) -> Governed {
    let GatedBody { verdict, splices, records } = gate_body(body, wire, 0, policy, origin, destination);
    Governed { verdict, spliced: Spliced::new(body, splices), records }
}

/// The same without the positions before `first`, for a caller that knows what was decided about those: a
/// conversation grows at its end, and what a prefix holds does not change. Text outside of all positions is
/// part of no prefix and is judged every time, and so is what a prefix and the rest say together.
///
/// The time is linear in the body and in what is found in it.
#[must_use]
pub fn gate_body(
    body: &str,
    wire: &WirePrompt,
    first: usize,
    policy: &SensitivityPolicy,
    origin: &DataScope,
    destination: Destination<'_>,
) -> GatedBody {
    let gate = Gate::new(policy, origin, destination);
    // Nobody is in a hurry; what was not judged would not be sent.
    gate_body_until(body, wire, first, policy, gate, &|| false).unwrap_or_else(|JudgedTooLong| GatedBody {
        verdict: GateVerdict::Refuse,
        splices: Vec::new(),
        records: Vec::new(),
    })
}

/// The same, until `is_late` says that there is no more time.
pub fn gate_body_until(
    body: &str,
    wire: &WirePrompt,
    first: usize,
    policy: &SensitivityPolicy,
    mut gate: Gate<'_>,
    is_late: &dyn Fn() -> bool,
) -> Result<GatedBody, JudgedTooLong> {
    let mut splices: Vec<Splice> = Vec::new();
    let before = end_of_known(body, wire, first);
    let mut texts: Vec<(usize, BodyText<'_>)> = Vec::new();
    for (block, place) in places(body, wire, first) {
        let found = body_texts(body, &place);
        if let Some(position) = wire.positions.get(block) {
            let label = policy.label(Sensitivity::Public, position.provenance, &[]);
            if gate.whole(block, "provenance", label) == Some(GateAction::Redact) {
                if found.iter().any(|text| text.seal.is_some()) {
                    gate.sealed_stretch(block, "provenance", label);
                }
                let shown = found.iter().filter(|text| text.is_shown() && !text.string.text.is_empty());
                splices.extend(shown.map(|text| text.redacted(&(0..text.string.text.len()), "[redacted]")));
                continue;
            }
        }
        texts.extend(found.into_iter().map(|text| (block, text)));
    }
    for (block, text) in &texts {
        judge_text(*block, text, &policy.rules, &mut gate, &mut splices, is_late)?;
    }
    let all = || before.iter().chain(&texts).map(|(block, text)| (*block, text));
    let shown: Vec<(usize, &BodyText<'_>)> =
        all().filter(|(_, text)| text.kind == TextKind::Value && text.is_shown()).collect();
    judge_joined(&shown, &policy.rules, &mut gate, &mut splices, is_late)?;
    // Settings between two parts are nothing that a reader sees there.
    let prose: Vec<(usize, &BodyText<'_>)> = all().filter(|(_, text)| text.is_prose()).collect();
    if prose.len() < shown.len() {
        judge_joined(&prose, &policy.rules, &mut gate, &mut splices, is_late)?;
    }
    if gate.only_reports() {
        splices.clear();
    }
    let (verdict, records) = gate.finished();
    Ok(GatedBody { verdict, splices: apart(splices), records })
}

/// Splices that touch become one: what a text says in one place is found on its own and with its neighbours.
fn apart(mut splices: Vec<Splice>) -> Vec<Splice> {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut apart: Vec<Splice> = Vec::with_capacity(splices.len());
    for splice in splices {
        match apart.last_mut() {
            Some(last) if splice.range.start < last.range.end => {
                last.range.end = last.range.end.max(splice.range.end);
            }
            _ => apart.push(splice),
        }
    }
    apart
}

fn judge_text(
    block: usize,
    text: &BodyText<'_>,
    rules: &GateRules,
    gate: &mut Gate<'_>,
    splices: &mut Vec<Splice>,
    is_late: &dyn Fn() -> bool,
) -> Result<(), JudgedTooLong> {
    let content = &*text.string.text;
    if let Some(number) = text.as_whole_number()
        && let Some(finding) = rules.find(&number).first()
    {
        if gate.stretch(block, finding.rule, finding.label) == Some(GateAction::Redact) {
            splices.push(text.redacted(&(0..content.len()), &redaction(finding.rule)));
        }
        return Ok(());
    }
    if let Some(file) = text.file_text() {
        for finding in rules.find_until(&file, is_late).ok_or(JudgedTooLong)? {
            gate.sealed_stretch(block, finding.rule, finding.label);
        }
    }
    let found = rules.find_until(content, is_late).ok_or(JudgedTooLong)?;
    for hidden in rules.find_behind_escapes(content, &found, is_late).ok_or(JudgedTooLong)? {
        gate.sealed_stretch(block, hidden.rule, hidden.label);
    }
    for finding in found {
        if let Some(seal) = text.seal {
            if !is_chance(seal, &finding, content) {
                gate.sealed_stretch(block, finding.rule, finding.label);
            }
        } else if text.names_model() {
            // The code that forwards the request writes the name anew.
            gate.sealed_stretch(block, finding.rule, finding.label);
        } else if gate.stretch(block, finding.rule, finding.label) == Some(GateAction::Redact) {
            splices.push(text.redacted(&finding.range, &redaction(finding.rule)));
            if text.kind == TextKind::Number {
                break;
            }
        }
    }
    Ok(())
}

/// Judges what the texts say one after the other: a secret in several parts is one to their reader. A rule may
/// ask for the edge of a word, which a neighbour of the parts hides, so all texts together are judged without edges,
/// and each pair of neighbours on its own.
fn judge_joined(
    parts: &[(usize, &BodyText<'_>)],
    rules: &GateRules,
    gate: &mut Gate<'_>,
    splices: &mut Vec<Splice>,
    is_late: &dyn Fn() -> bool,
) -> Result<(), JudgedTooLong> {
    if parts.len() < 2 {
        return Ok(());
    }
    // Without edges, and with one behind every second part: the even ones, then the odd ones.
    for edges_behind in [None, Some(0), Some(1)] {
        let mut taken: Vec<Range<usize>> = splices.iter().map(|splice| splice.range.clone()).collect();
        taken.sort_by_key(|range| range.start);
        let joined = Joined::new(parts, |index| edges_behind == Some(index % 2));
        let whole =
            JoinedText { text: &joined.text, parts: &joined.places, has_edges: edges_behind.is_some() };
        for finding in rules.find_joined(whole, is_late).ok_or(JudgedTooLong)? {
            let of = joined.parts_of(&finding.range);
            if of.len() < 2 {
                continue;
            }
            let mut is_redacted = false;
            for index in of {
                let Some((block, text)) = parts.get(index) else { continue };
                let Some(range) = joined.within(index, &finding.range) else { continue };
                let splice = text.redacted(&range, &redaction(finding.rule));
                let after = taken.partition_point(|range| range.end <= splice.range.start);
                // What is taken out already is gone.
                if taken.get(after).is_some_and(|range| range.start < splice.range.end) {
                    continue;
                }
                if text.seal.is_some() {
                    gate.sealed_stretch(*block, finding.rule, finding.label);
                    break;
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
    Ok(())
}

/// How much of what was judged before is read together with what comes after it.
const KNOWN_BYTES: usize = 4096;

/// The last texts of the positions before `first`. What follows them can end a secret that they begin.
fn end_of_known<'b>(body: &'b str, wire: &WirePrompt, first: usize) -> Vec<(usize, BodyText<'b>)> {
    let mut texts: Vec<(usize, BodyText<'b>)> = Vec::new();
    let mut bytes = 0;
    let known = wire.positions.iter().enumerate().take(first);
    for (block, position) in known.rev() {
        let found = body_texts(body, &position.range);
        bytes +=
            found.iter().filter(|text| text.is_shown()).map(|text| text.string.text.len()).sum::<usize>();
        texts.extend(found.into_iter().rev().map(|text| (block, text)));
        if bytes >= KNOWN_BYTES {
            break;
        }
    }
    texts.reverse();
    texts
}

/// The places of the texts to judge: positions from `first` on by their number, and everything outside of all positions
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
        .filter_map(|text| match text.seal {
            // Images and sound say nothing that a policy about texts could mean.
            Some(Seal::Bytes) => text.file_text(),
            Some(Seal::Signed) | None => Some(text.string.text.into_owned()),
        })
        .collect()
}

/// A text that somebody says, with the bytes between the quotes of its JSON string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedText {
    pub text: String,
    pub range: Range<usize>,
}

impl PlacedText {
    /// The edit that puts another text in its place.
    #[must_use]
    pub fn replaced(&self, text: &str) -> Splice {
        let quoted = Value::from(text).to_string();
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned();
        Splice { range: self.range.clone(), text: inner }
    }
}

/// What is said at a position, without keys and settings, each text with its place in the body.
#[must_use]
pub fn placed_texts(body: &str, position: &Position) -> Vec<PlacedText> {
    let texts = body_texts(body, &position.range);
    let said = texts.into_iter().filter(BodyText::is_prose);
    said.map(|text| {
        let range = text.string.in_body(&(0..text.string.text.len()));
        PlacedText { text: text.string.text.into_owned(), range }
    })
    .collect()
}

/// The texts of a body outside of all its positions, keys left out.
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
        let (policy, scope) = (SensitivityPolicy::default(), DataScope::new("a"));
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

    #[test]
    fn characters_that_nobody_sees_hide_nothing() {
        let spread: String = SECRET.chars().flat_map(|letter| [letter, '\u{200b}']).collect();
        let escaped: String = SECRET.chars().map(|letter| format!("{letter}\\u2060")).collect();
        for hidden in [spread.as_str(), &escaped, "４１１１\u{a0}１１１１\u{202f}１１１１\u{2009}１１１１"]
        {
            for template in [
                r#"{"model":"m","messages":[{"role":"user","content":"use S now"}]}"#,
                r#"{"model":"m","messages":[],"metadata":{"S":"a"}}"#,
                r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"i","type":"function","function":{"name":"f","arguments":"S"}}]}]}"#,
            ] {
                let sent = sent(Surface::OpenAiChat, &template.replace('S', hidden));
                assert!(sent.contains("[redacted ") && stave_canon::parse(&sent).is_ok(), "{sent}");
                assert!(!sent.contains('O') && !sent.contains('１') && !sent.contains("I"), "{sent}");
            }
        }
        let split =
            r#"{"model":"m","messages":[{"role":"user","content":["A\u200bKIAIOSF","O\u200bDNN7EXAMPLE"]}]}"#;
        let sent = sent(Surface::AnthropicMessages, split);
        assert!(!sent.contains("KIA") && !sent.contains("DNN7"), "{sent}");
    }

    fn verdict(surface: Surface, body: &str) -> (GateVerdict, String) {
        let wire = read_wire(body, Some(surface)).unwrap();
        let (policy, scope) = (SensitivityPolicy::default(), DataScope::new("a"));
        let governed = govern_body(body, &wire, &policy, &scope, Destination::External);
        (governed.verdict, governed.spliced.body)
    }

    #[test]
    fn signed_text_and_ciphertext_are_refused_and_never_edited() {
        for template in [
            r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"so S is","signature":"abc"}]}]}"#,
            r#"{"model":"m","messages":[{"role":"assistant","content":[{"signature":"S","thinking":"x","type":"thinking"}]}]}"#,
            r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"redacted_thinking","data":"S"}]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBOR/S/AAAA"}}]}]}"#,
            r#"{"model":"m","input":[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"S"}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,S"}}]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav","data":"S"}}]}]}"#,
            r#"{"model":"m","contents":[{"parts":[{"text":"x","thought_signature":"S"}]}]}"#,
        ] {
            let body = template.replace('S', SECRET);
            for surface in [Surface::OpenAiChat, Surface::OpenAiResponses, Surface::AnthropicMessages] {
                assert_eq!(verdict(surface, &body), (GateVerdict::Refuse, body.clone()));
            }
        }
    }

    fn base64(bytes: &[u8]) -> String {
        use ::base64::Engine as _;
        ::base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    #[test]
    fn a_text_file_in_base64_is_judged_like_its_text() {
        let file = base64(format!("my key is {SECRET}, keep it").as_bytes());
        for template in [
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"F"}}]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,F"}}]}]}"#,
        ] {
            let body = template.replace('F', &file);
            let surface = Surface::OpenAiChat;
            assert_eq!(verdict(surface, &body), (GateVerdict::Refuse, body.clone()));
            let wire = read_wire(&body, Some(surface)).unwrap();
            let texts: Vec<String> =
                wire.positions.iter().flat_map(|position| position_texts(&body, position)).collect();
            assert!(texts.iter().any(|text| text.contains(SECRET)), "{texts:?}");
        }
        // What is no text is said by nobody.
        let image = base64(&[&[0x89, b'P', b'N', b'G', 0xff], SECRET.as_bytes()].concat());
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{image}"}}}}]}}]}}"#
        );
        assert_eq!(verdict(Surface::AnthropicMessages, &body), (GateVerdict::Send, body.clone()));
        let wire = read_wire(&body, Some(Surface::AnthropicMessages)).unwrap();
        let mut texts = wire.positions.iter().flat_map(|position| position_texts(&body, position));
        assert!(texts.all(|text| !text.contains(&image)));
    }

    #[test]
    fn a_secret_in_the_name_of_a_model_is_refused() {
        let body = format!(r#"{{"model":"claude-{SECRET}","messages":[{{"role":"user","content":"hi"}}]}}"#);
        for surface in [Surface::OpenAiChat, Surface::AnthropicMessages] {
            assert_eq!(verdict(surface, &body), (GateVerdict::Refuse, body.clone()));
        }
    }

    #[test]
    fn a_document_of_plain_words_is_no_file() {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"document","source":{{"type":"text","media_type":"text/plain","data":"notes my key {SECRET}"}}}}]}}]}}"#
        );
        let (verdict, sent) = verdict(Surface::AnthropicMessages, &body);
        assert!(verdict == GateVerdict::Send && !sent.contains(SECRET), "{verdict:?} {sent}");
    }

    #[test]
    fn a_tool_argument_of_the_same_name_is_redacted() {
        for template in [
            r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"f","input":{"data":"S","signature":"S","thinking":"S"}}]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a note: S."}}]}]}"#,
        ] {
            let (verdict, sent) = verdict(Surface::AnthropicMessages, &template.replace('S', SECRET));
            assert!(verdict == GateVerdict::Send && !sent.contains(SECRET), "{verdict:?} {sent}");
        }
    }

    #[test]
    fn ciphertext_that_looks_like_a_key_by_chance_is_sent() {
        for key in ["-sk-", "ghp_", "AIza", "hf_"] {
            let bytes = format!("gAAAAABm{}{key}{}", "Qx7+".repeat(20), "aB3x".repeat(20));
            for body in [
                format!(r#"{{"model":"m","input":[{{"type":"reasoning","encrypted_content":"{bytes}"}}]}}"#),
                format!(
                    r#"{{"model":"m","input":[{{"role":"user","content":[{{"type":"input_image","image_url":"data:image/png;base64,{bytes}"}}]}}]}}"#
                ),
            ] {
                assert_eq!(verdict(Surface::OpenAiResponses, &body), (GateVerdict::Send, body));
            }
        }
    }

    #[test]
    fn settings_between_two_parts_do_not_hide_what_the_parts_say() {
        for split in [
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"AKIAIOSF","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"ODNN7EXAMPLE"}]}]}"#,
            r#"{"model":"m","messages":[{"role":"user","name":"bob","content":"AKIAIOSF"},{"name":"bob","role":"user","content":"ODNN7EXAMPLE"}]}"#,
            r#"{"model":"m","messages":[{"role":"user","content":"AKIAIOSF"},{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"ODNN7EXAMPLE"}]}]}"#,
        ] {
            let (_, sent) = verdict(Surface::AnthropicMessages, split);
            assert!(!sent.contains("ODNN7") && stave_canon::parse(&sent).is_ok(), "{sent}");
        }
    }

    #[test]
    fn a_known_prefix_and_what_follows_it_are_read_together() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"key AKIAIOSF"},{"role":"user","content":"ODNN7EXAMPLE"}]}"#;
        let wire = read_wire(body, Some(Surface::AnthropicMessages)).unwrap();
        let (policy, scope) = (SensitivityPolicy::default(), DataScope::new("a"));
        let gated = gate_body(body, &wire, 1, &policy, &scope, Destination::External);
        assert!(!Spliced::new(body, gated.splices).body.contains("ODNN7"));
    }

    #[test]
    fn escapes_inside_of_arguments_and_exponents_hide_nothing() {
        let arguments = r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"i","type":"function","function":{"name":"f","arguments":"{\"k\":\"\\u0041KIAIOSFODNN7EXAMPLE\"}"}}]}]}"#;
        assert_eq!(verdict(Surface::OpenAiChat, arguments).0, GateVerdict::Refuse);
        let (_, sent) = verdict(
            Surface::OpenAiChat,
            r#"{"model":"m","messages":[],"metadata":{"a":4.111111111111111e15,"b":4111111111111111.0}}"#,
        );
        assert!(!sent.contains("11111"), "{sent}");
    }

    #[test]
    fn the_message_after_a_key_is_left_as_it_is() {
        let key = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5";
        for (template, left) in [
            (
                r#"{"model":"m","messages":[{"role":"user","content":"use K"},{"role":"assistant","content":"Continue"},{"role":"user","content":"Thanks 2 you"}]}"#,
                &["\"Continue\"", "\"Thanks 2 you\""][..],
            ),
            (
                r#"{"model":"m","system":"K","messages":[{"role":"user","content":[{"type":"text","text":"Continue"},{"type":"text","text":"K"},{"type":"text","text":"please-do-so"}]}]}"#,
                &["\"Continue\"", "\"please-do-so\""],
            ),
            (
                r#"{"model":"m","messages":[{"role":"user","content":"K"},{"role":"assistant","content":[{"type":"thinking","thinking":"Let me see","signature":"abc"},{"type":"text","text":"Well"}]}]}"#,
                &["\"Let me see\"", "\"Well\""],
            ),
            (
                r#"{"model":"m","messages":[{"role":"user","content":"-----BEGIN RSA PRIVATE KEY-----"},{"role":"assistant","content":"Is that all?"},{"role":"user","content":"Yes"}]}"#,
                &["\"Is that all?\"", "\"Yes\""],
            ),
        ] {
            let (verdict, sent) =
                verdict(Surface::AnthropicMessages, &template.replace("K\"", &format!("{key}\"")));
            assert_eq!(verdict, GateVerdict::Send, "{sent}");
            assert!(!sent.contains("a1B2c3") && sent.contains("[redacted "), "{sent}");
            left.iter().for_each(|text| assert!(sent.contains(text), "{text} {sent}"));
        }
    }
}
