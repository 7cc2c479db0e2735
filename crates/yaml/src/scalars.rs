//! Scalars on their way into the tree: their meaning, their tags and their places.

use std::ops::Range;

use granit_parser::{ScalarStyle, Tag};
use stave_diag::codes::yaml as codes;
use stave_diag::{Diagnostic, Embedded, Span};

use crate::Text;
use crate::core_schema::{self, Plain};
use crate::pieces::pieces;
use crate::read::Reader;
use crate::{Tree, TreeValue};

impl Reader<'_> {
    /// The scalar, and whether it was written plainly.
    pub(crate) fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        range: Range<usize>,
        tag: Option<&Tag>,
    ) -> (Tree, bool) {
        let whole = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.block_range(&range),
            _ => range.clone(),
        };
        let span = self.span(whole);
        let plain = style == ScalarStyle::Plain;
        let resolved = match tag {
            None if plain => core_schema::resolve(value),
            None => Plain::String,
            Some(tag) => self.tagged(tag, value, span),
        };
        let value = match resolved {
            Plain::Null => TreeValue::Null,
            Plain::Bool(value) => TreeValue::Bool(value),
            Plain::Number(number) => TreeValue::Number(number),
            Plain::NotJson => {
                let message = format!("`{value}` is a number that JSON cannot hold");
                let help = format!("write a finite number, or quote it: \"{value}\"");
                self.report(Diagnostic::new(codes::UNREPRESENTABLE_VALUE, span, message).help(help));
                TreeValue::Null
            }
            Plain::String => TreeValue::String(Text { span, embedded: self.embedded(value, style, range) }),
        };
        (Tree { span, value }, plain)
    }

    /// A decoded scalar with its places. One on a single line without escapes is there as it reads.
    fn embedded(&self, value: &str, style: ScalarStyle, range: Range<usize>) -> Embedded {
        let quote = usize::from(matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
        let inside = range.start + quote..range.end.saturating_sub(quote);
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if !is_block && !value.is_empty() && self.text.get(inside.clone()) == Some(value) {
            return Embedded::verbatim(value, self.source, inside.start);
        }
        Embedded::new(value, self.source, &pieces(self.text, range, style, value))
    }

    fn tagged(&mut self, tag: &Tag, value: &str, span: Span) -> Plain {
        let resolved = match tag.core_suffix() {
            Some("str") => Some(Plain::String),
            Some("null") => matches!(core_schema::resolve(value), Plain::Null).then_some(Plain::Null),
            Some("bool") => Some(core_schema::resolve(value)).filter(|plain| matches!(plain, Plain::Bool(_))),
            Some("int") => core_schema::integer(value).map(Plain::Number),
            Some("float") => core_schema::float(value),
            _ if tag.original() == "!" => Some(Plain::String),
            _ => {
                self.unknown_tag(tag, span);
                return Plain::String;
            }
        };
        resolved.unwrap_or_else(|| {
            let message = format!("`{value}` is not what its tag `{}` says", tag.original());
            self.report(Diagnostic::new(codes::UNREPRESENTABLE_VALUE, span, message));
            Plain::String
        })
    }

    pub(crate) fn container_tag(&mut self, tag: Option<&Tag>, expected: &str, range: &Range<usize>) {
        if let Some(tag) = tag
            && tag.core_suffix() != Some(expected)
        {
            let span = self.span(range.clone());
            self.unknown_tag(tag, span);
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, span: Span) {
        let message = format!("the tag `{}` has no meaning here", tag.original());
        self.report(Diagnostic::new(codes::UNKNOWN_TAG, span, message).help("remove the tag"));
    }

    /// The range of a block scalar from its `|` or `>` to the end of its last line with content.
    fn block_range(&self, content: &Range<usize>) -> Range<usize> {
        let end = self
            .text
            .get(content.clone())
            .map_or(content.end, |text| content.start + text.trim_end_matches(['\n', '\r', ' ', '\t']).len());
        match block_header_start(self.text, content.start) {
            Some(start) => start..end.max(start),
            None => content.start..end.max(content.start),
        }
    }
}

/// The place of the `|` or `>` of the block scalar whose content begins at an offset.
pub fn block_header_start(text: &str, content: usize) -> Option<usize> {
    let mut line_end = content;
    loop {
        let before = text.get(..line_end)?;
        let line_start = before.rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
        let line = before.get(line_start..)?;
        if let Some(header) = block_header(line) {
            return Some(line_start + header);
        }
        line_end = line_start.checked_sub(1)?;
    }
}

/// Where in a line the header of a block scalar begins, when the line ends in one.
fn block_header(line: &str) -> Option<usize> {
    line.match_indices(['|', '>']).map(|(index, _)| index).find(|index| {
        let before = line.get(..*index).unwrap_or_default();
        let after = line.get(index + 1..).unwrap_or_default();
        let after = after.trim_start_matches(|indicator: char| {
            matches!(indicator, '+' | '-') || indicator.is_ascii_digit()
        });
        let comment = after.trim_start_matches([' ', '\t']);
        (before.is_empty() || before.ends_with([' ', '\t']))
            && (comment.is_empty() || (comment.starts_with('#') && comment.len() < after.len()))
    })
}
