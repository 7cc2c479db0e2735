//! Code and quotations in a text: what its author shows rather than says.
//!
//! Only what is closed counts. A mark that is opened and never closed, a marker of a list and a string of JSON make
//! no quotation, because an attacker can write them too.
//!
//! Invariant: spans are ascending and do not overlap; finding them takes time linear in the text.

use std::collections::HashMap;
use std::ops::Range;

/// Code or a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// A block of code between fences, or a text between triple quotation marks.
    Fenced,
    /// A line that begins with `>`, as mails and Markdown quote.
    QuotedLine,
    /// Code in a line.
    Code,
    /// Words between quotation marks.
    Quotation,
}

#[derive(Debug, Default)]
pub(super) struct Markup {
    spans: Vec<(Range<usize>, SpanKind)>,
}

/// One line with its place, without its end.
#[derive(Clone, Copy)]
struct Line<'t> {
    start: usize,
    text: &'t str,
}

/// A fence that opens or closes a block.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fence {
    sign: u8,
    length: usize,
    /// Whether nothing follows it in its line, so that it can close a block.
    is_bare: bool,
}

/// Quotation marks that differ at both ends.
const PAIRS: [(char, char); 4] =
    [('\u{201c}', '\u{201d}'), ('\u{ab}', '\u{bb}'), ('\u{201e}', '\u{201c}'), ('\u{2018}', '\u{2019}')];

impl Markup {
    pub(super) fn of(text: &str) -> Self {
        let mut out = Markup::default();
        let lines = lines(text);
        let closers = longest_closers(&lines);
        let is_json = text.trim_start().starts_with(['{', '[']);
        let mut paragraph: Option<Range<usize>> = None;
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let end = line.start + line.text.len();
            let is_break = line.text.trim().is_empty();
            if let Some(close) = closing(&lines, &closers, at) {
                out.paragraph(text, paragraph.take(), is_json);
                let last = lines.get(close).map_or(end, |line| line.start + line.text.len());
                out.spans.push((line.start..last, SpanKind::Fenced));
                at = close + 1;
                continue;
            }
            if is_break || line.text.trim_start().starts_with('>') {
                out.paragraph(text, paragraph.take(), is_json);
                if !is_break {
                    out.spans.push((line.start..end, SpanKind::QuotedLine));
                }
            } else {
                let start = paragraph.take().map_or(line.start, |open| open.start);
                paragraph = Some(start..end);
            }
            at += 1;
        }
        out.paragraph(text, paragraph, is_json);
        out.triple_quotes(text);
        out
    }

    /// The span that a place lies in.
    pub(super) fn span_at(&self, place: usize) -> Option<(&Range<usize>, SpanKind)> {
        let at = self.spans.partition_point(|(span, _)| span.end <= place);
        self.spans.get(at).filter(|(span, _)| span.start <= place).map(|(span, kind)| (span, *kind))
    }

    /// The parts of a range that lie in no span.
    pub(super) fn outside(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        let mut at = range.start;
        let first = self.spans.partition_point(|(span, _)| span.end <= range.start);
        for (span, _) in self.spans.iter().skip(first).take_while(|(span, _)| span.start < range.end) {
            if at < span.start {
                out.push(at..span.start);
            }
            at = span.end;
        }
        if at < range.end {
            out.push(at..range.end);
        }
        out
    }

    /// Finds code and quotations in the lines of one paragraph.
    fn paragraph(&mut self, text: &str, range: Option<Range<usize>>, is_json: bool) {
        let Some(range) = range else { return };
        let Some(part) = text.get(range.clone()) else { return };
        let mut found = code(part);
        found.extend(quotations(part, &found, is_json));
        found.sort_by_key(|(span, _)| span.start);
        for (span, kind) in found {
            let span = range.start + span.start..range.start + span.end;
            if self.spans.last().is_none_or(|(last, _)| last.end <= span.start) {
                self.spans.push((span, kind));
            }
        }
    }

    /// Texts between triple quotation marks may go over paragraphs. They swallow the spans inside them.
    fn triple_quotes(&mut self, text: &str) {
        let mut marks = text
            .match_indices("\"\"\"")
            .map(|(at, _)| at)
            .filter(|at| !matches!(self.span_at(*at), Some((_, SpanKind::Fenced | SpanKind::Code))));
        let mut blocks = Vec::new();
        while let (Some(open), Some(close)) = (marks.next(), marks.next()) {
            blocks.push(open..close + 3);
        }
        drop(marks);
        if blocks.is_empty() {
            return;
        }
        let overlaps = |span: &Range<usize>| {
            let at = blocks.partition_point(|block| block.end <= span.start);
            blocks.get(at).is_some_and(|block| block.start < span.end)
        };
        self.spans.retain(|(span, _)| !overlaps(span));
        self.spans.extend(blocks.iter().map(|block| (block.clone(), SpanKind::Fenced)));
        self.spans.sort_by_key(|(span, _)| span.start);
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    text.split('\n')
        .map(|line| {
            let line = Line { start, text: line };
            start += line.text.len() + 1;
            line
        })
        .collect()
}

fn fence(line: &str) -> Option<Fence> {
    let line = line.trim();
    let sign = *line.as_bytes().first()?;
    let length = line.bytes().take_while(|byte| *byte == sign).count();
    let is_fence = matches!(sign, b'`' | b'~') && length >= 3;
    // Code in a line may be marked with three backticks as well.
    let rest = line.get(length..).unwrap_or_default();
    (is_fence && !rest.contains('`')).then_some(Fence { sign, length, is_bare: rest.is_empty() })
}

/// For each line, the longest fence of backticks and of tildes from there on that could close a block.
fn longest_closers(lines: &[Line<'_>]) -> Vec<[usize; 2]> {
    let mut longest = [0; 2];
    let mut out = vec![longest; lines.len() + 1];
    for (index, line) in lines.iter().enumerate().rev() {
        if let Some(fence) = fence(line.text).filter(|fence| fence.is_bare) {
            let slot = &mut longest[usize::from(fence.sign == b'~')];
            *slot = (*slot).max(fence.length);
        }
        if let Some(slot) = out.get_mut(index) {
            *slot = longest;
        }
    }
    out
}

/// The line that closes the block which this line opens.
fn closing(lines: &[Line<'_>], closers: &[[usize; 2]], at: usize) -> Option<usize> {
    let open = fence(lines.get(at)?.text)?;
    let longest = closers.get(at + 1)?[usize::from(open.sign == b'~')];
    if longest < open.length {
        return None;
    }
    let closes = |line: &Line<'_>| {
        fence(line.text)
            .is_some_and(|fence| fence.is_bare && fence.sign == open.sign && fence.length >= open.length)
    };
    lines.iter().skip(at + 1).position(closes).map(|after| at + 1 + after)
}

/// Code between two runs of as many backticks.
fn code(part: &str) -> Vec<(Range<usize>, SpanKind)> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in part.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    let mut next: HashMap<usize, usize> = HashMap::new();
    let mut closers = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate().rev() {
        if let Some(slot) = closers.get_mut(index) {
            *slot = next.insert(run.len(), index);
        }
    }
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(run) = runs.get(at) {
        let close = closers.get(at).copied().flatten().and_then(|close| Some((close, runs.get(close)?)));
        match close {
            Some((index, close)) => {
                out.push((run.start..close.end, SpanKind::Code));
                at = index + 1;
            }
            None => at += 1,
        }
    }
    out
}

/// Words between quotation marks that close, outside of code.
fn quotations(part: &str, code: &[(Range<usize>, SpanKind)], is_json: bool) -> Vec<(Range<usize>, SpanKind)> {
    let in_code = |at: usize| {
        let index = code.partition_point(|(span, _)| span.end <= at);
        code.get(index).is_some_and(|(span, _)| span.start <= at)
    };
    let mut out = Vec::new();
    let mut open: Option<(usize, char, Option<char>)> = None;
    // The sign that the line begins with.
    let mut first = None;
    for (at, sign) in part.char_indices() {
        match sign {
            '\n' => first = None,
            _ if first.is_none() && !sign.is_whitespace() => first = Some(sign),
            _ => {}
        }
        if in_code(at)
            || !matches!(
                sign,
                '"' | '\'' | '\u{201c}'..='\u{201e}' | '\u{2018}' | '\u{2019}' | '\u{ab}' | '\u{bb}'
            )
        {
            continue;
        }
        let before = part.get(..at).and_then(|before| before.chars().next_back());
        let after = part.get(at + sign.len_utf8()..).and_then(|after| after.chars().next());
        let is_inner = before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
        // An apostrophe, or the sign for inches and seconds.
        if matches!(sign, '\'' | '\u{2019}') && is_inner {
            continue;
        }
        match open {
            Some((start, close, first)) if close == sign => {
                open = None;
                let is_escaped = before == Some('\\');
                let is_string = sign == '"' && is_json_string(part, start, first, is_json);
                if !is_escaped && !is_string {
                    out.push((start..at + sign.len_utf8(), SpanKind::Quotation));
                }
            }
            // A straight mark inside of another pair stays inside; a new paragraph begins anew anyway.
            Some(_) => {}
            None => {
                let close = PAIRS.iter().find(|(open, _)| *open == sign).map(|(_, close)| *close);
                let straight = matches!(sign, '"' | '\'').then_some(sign);
                let begins = sign != '\'' || !before.is_some_and(char::is_alphanumeric);
                let has_words = sign == '\u{ab}' || after.is_some_and(|after| !after.is_whitespace());
                open = close.or(straight).filter(|_| begins && has_words).map(|close| (at, close, first));
            }
        }
    }
    out
}

/// Whether a quotation mark begins a string of JSON: a value of a member, an item of a list or a key. `first` is the
/// sign that its line begins with.
fn is_json_string(part: &str, open: usize, first: Option<char>, is_json: bool) -> bool {
    let before = part.get(..open).unwrap_or_default().trim_end();
    match before.chars().next_back() {
        Some(':') => {
            let key = before.trim_end_matches(':').trim_end();
            key.ends_with('"') || is_json
        }
        Some('[' | '{') => true,
        Some(',') => is_json || matches!(first, Some('"' | '[' | '{')),
        None => is_json,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(text: &str) -> Vec<&str> {
        Markup::of(text).spans.into_iter().map(|(span, _)| &text[span]).collect()
    }

    #[test]
    fn what_is_closed_is_code_or_a_quotation() {
        assert_eq!(spans("a `b c` d ``e ` f`` g"), ["`b c`", "``e ` f``"]);
        assert_eq!(spans("a\n```rust\nb\n```\nc"), ["```rust\nb\n```"]);
        assert_eq!(
            spans("say \u{201c}b c\u{201d} and 'd e' and \"f g\"."),
            ["\u{201c}b c\u{201d}", "'d e'", "\"f g\""]
        );
        assert_eq!(spans("> a\nb"), ["> a"]);
        assert_eq!(spans("it is \"\"\"a\n\nb \"c\" d\"\"\" e"), ["\"\"\"a\n\nb \"c\" d\"\"\""]);
    }

    #[test]
    fn what_is_open_or_json_is_neither() {
        for text in [
            "a `b c",
            "a\n```\nb",
            "```\na\n~~~",
            "````\na\n```",
            "a \"b c",
            "don't a b won't",
            "{\"a\": \"b c\"}",
            "[\"a\", \"b c\"]",
            "{\n  \"a\": [\n    \"b\",\n    \"c\"\n  ]\n}",
            "a `b\n\nc` d",
        ] {
            assert_eq!(spans(text), [] as [&str; 0], "{text}");
        }
    }

    /// A walk that began again for each mark would take hours here.
    #[test]
    fn a_text_full_of_marks_takes_linear_time() {
        for mark in ["`", "``` ", "\"", "'", "\"\"\"", "```\n", "~~~x\n", "\u{201e}", "> ", "`` `"] {
            let _ = Markup::of(&mark.repeat(200_000));
        }
        let rising: String = (1..1200).map(|length| "`".repeat(length) + "\n").collect();
        let _ = Markup::of(&rising);
    }

    proptest! {
        #[test]
        fn spans_ascend_and_lie_on_boundaries(text in "[a \n`~\"'>\u{201c}\u{201d}:\\[{,é]{0,80}") {
            let markup = Markup::of(&text);
            let mut last = 0;
            for (span, _) in &markup.spans {
                prop_assert!(span.start >= last && span.end > span.start, "{:?}", markup.spans);
                prop_assert!(text.get(span.clone()).is_some());
                last = span.end;
            }
            let outside: usize = markup.outside(0..text.len()).into_iter().map(|range| range.len()).sum();
            let inside: usize = markup.spans.iter().map(|(span, _)| span.len()).sum();
            prop_assert_eq!(outside + inside, text.len());
        }
    }
}
