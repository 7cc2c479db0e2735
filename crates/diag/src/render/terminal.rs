//! Findings as a person reads them: one block each, with the lines they are about.
//!
//! The drawing is the library's; this module decides what goes into a block, and hands over only the lines
//! that matter, with line endings, byte order mark and control characters already made harmless. So the
//! library never sees a text or an offset that the author of a flow chose freely.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

use super::{Colour, visible};
use crate::{Diagnostic, Edit, Fix, Label, Severity, Source, SourceId, Sources, Span};

/// How wide a line may be when the caller does not know the terminal.
pub const DEFAULT_WIDTH: usize = 140;

/// Longer lines are not drawn as a change, in bytes.
const LONGEST_CHANGED_LINE: usize = 400;

/// The findings in the order given, with an empty line after each.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, colour: Colour) -> String {
    render_within(diagnostics, sources, colour, DEFAULT_WIDTH)
}

/// As [`render`], for a terminal of `width` columns.
#[must_use]
pub fn render_within(diagnostics: &[Diagnostic], sources: &Sources, colour: Colour, width: usize) -> String {
    let renderer = match colour {
        Colour::Always => Renderer::styled(),
        Colour::Never => Renderer::plain(),
    };
    let renderer = renderer.term_width(width);
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&renderer.render(&blocks(diagnostic, sources)));
        out.push_str("\n\n");
    }
    out
}

/// The finding itself, and its cure when a machine can apply one.
fn blocks<'a>(diagnostic: &'a Diagnostic, sources: &Sources) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut finding =
        Group::with_title(level.primary_title(visible(&diagnostic.message)).id(diagnostic.code.0));
    for id in sources_of(diagnostic) {
        finding = finding.element(snippet(diagnostic, id, sources));
    }
    if let Some(help) = &diagnostic.help {
        finding = finding.element(Level::HELP.message(visible(help)));
    }
    let cure = diagnostic.fix.as_ref().map(|fix| suggestion(fix, sources));
    std::iter::once(finding).chain(cure).collect()
}

/// The sources a finding is about, the one of the primary span first, each once.
fn sources_of(diagnostic: &Diagnostic) -> Vec<SourceId> {
    let mut ids = vec![diagnostic.primary.source];
    for Label { span, .. } in &diagnostic.labels {
        if !ids.contains(&span.source) {
            ids.push(span.source);
        }
    }
    ids
}

fn snippet<'a>(
    diagnostic: &'a Diagnostic,
    id: SourceId,
    sources: &Sources,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let primary = (AnnotationKind::Primary, diagnostic.primary, diagnostic.primary_label.as_deref());
    let labels = diagnostic
        .labels
        .iter()
        .map(|label| (AnnotationKind::Context, label.span, Some(label.message.as_str())));
    let marks: Vec<_> =
        std::iter::once(primary).chain(labels).filter(|(_, span, _)| span.source == id).collect();
    let window = Window::around(sources, id, marks.iter().map(|(_, span, _)| *span));
    let annotations: Vec<_> = marks
        .into_iter()
        .map(|(kind, span, message)| kind.span(window.underlined(span)).label(message.map(visible)))
        .collect();
    Snippet::source(window.text)
        .line_start(window.first_line)
        .path(visible(sources.name(id)))
        .annotations(annotations)
}

/// The cure as the lines before and after. The title is all when edits overlap, which cannot be drawn, or
/// when a line is too long, since these lines are drawn whole.
fn suggestion<'a>(fix: &'a Fix, sources: &Sources) -> Group<'a> {
    let mut group = Group::with_title(Level::HELP.secondary_title(visible(&fix.title)));
    let mut ids: Vec<SourceId> = fix.edits.iter().map(|edit| edit.span.source).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let edits: Vec<&Edit> = fix.edits.iter().filter(|edit| edit.span.source == id).collect();
        let window = Window::around(sources, id, edits.iter().map(|edit| edit.span));
        let mut patches: Vec<_> = edits
            .iter()
            .map(|edit| (window.replaced(edit.span), replacement_lines(&edit.replacement)))
            .collect();
        patches.sort_by_key(|(range, _)| (range.start, range.end));
        let overlap = patches
            .windows(2)
            .any(|pair| matches!(pair, [(first, _), (second, _)] if second.start < first.end));
        let changes = patches.iter().any(|(range, text)| window.text.get(range.clone()) != Some(text));
        let mut shown = patches.iter().flat_map(|(_, text)| text.lines()).chain(window.text.lines());
        if overlap || !changes || shown.any(|line| line.len() > LONGEST_CHANGED_LINE) {
            continue;
        }
        group = group.element(
            Snippet::source(window.text)
                .line_start(window.first_line)
                .path(visible(sources.name(id)))
                .patches(patches.into_iter().map(|(range, text)| Patch::new(range, text))),
        );
    }
    group
}

fn replacement_lines(replacement: &str) -> String {
    visible(&replacement.replace("\r\n", "\n").replace('\r', "\n"))
}

/// The lines of a source from the first to the last that some spans touch, each ended by one line feed.
struct Window<'a> {
    source: Option<&'a Source>,
    first_line: usize,
    text: String,
    /// Where each line begins in `text`.
    starts: Vec<usize>,
}

impl<'a> Window<'a> {
    fn around(sources: &'a Sources, id: SourceId, spans: impl Iterator<Item = Span>) -> Self {
        let source = sources.get(id);
        let mut first_line = u32::MAX;
        let mut last_line = 1;
        for span in spans {
            let (start, end) = sources.place_or_first(span);
            first_line = first_line.min(start.line);
            last_line = last_line.max(end.line);
        }
        first_line = first_line.min(last_line);
        let mut window =
            Window { source, first_line: first_line as usize, text: String::new(), starts: Vec::new() };
        for line in first_line..=last_line {
            window.starts.push(window.text.len());
            let shown =
                source.and_then(|source| source.text().get(source.line_range(line)?)).unwrap_or_default();
            window.text.push_str(&visible(shown));
            window.text.push('\n');
        }
        window
    }

    /// What to underline. A span that ends where a line begins covers the line ending before it, which is
    /// drawn as the end of its own line and not as the start of the next.
    fn underlined(&self, span: Span) -> std::ops::Range<usize> {
        let range = self.replaced(span);
        let end = if range.end > range.start && self.starts.contains(&range.end) {
            range.end - 1
        } else {
            range.end
        };
        range.start..end.max(range.start)
    }

    /// The span's place in the window's text.
    fn replaced(&self, span: Span) -> std::ops::Range<usize> {
        let Some(source) = self.source else { return 0..0 };
        let range = source.clamp(span.range());
        let start = self.offset(source, range.start);
        start..self.offset(source, range.end).max(start)
    }

    fn offset(&self, source: &Source, offset: usize) -> usize {
        let line = source.line_column(offset).line;
        let Some(line_range) = source.line_range(line) else { return 0 };
        let start = (line as usize).checked_sub(self.first_line).and_then(|index| self.starts.get(index));
        let before = source.text().get(line_range.start..offset.min(line_range.end)).unwrap_or_default();
        start.map_or(0, |start| start + visible(before).len())
    }
}

#[cfg(test)]
mod tests;
