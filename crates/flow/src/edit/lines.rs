//! The lines of a text: where they begin and end, and which comments belong to their content.

use stave_diag::{SourceId, Span};

use crate::yaml::Comment;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'text> {
    pub(crate) text: &'text str,
    pub(crate) source: SourceId,
    /// In file order.
    pub(crate) comments: &'text [Comment],
}

impl<'text> Lines<'text> {
    pub(crate) fn slice(&self, span: Span) -> &'text str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The offset at which the line of an offset begins.
    pub(crate) fn start(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        let start = before.rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
        if start == 0 && self.text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8().min(offset)
        } else {
            start
        }
    }

    /// The offset of the line break that ends the line of an offset.
    pub(crate) fn end(&self, offset: usize) -> usize {
        let rest = self.text.get(offset..).unwrap_or_default();
        rest.find(['\n', '\r']).map_or(self.text.len(), |newline| offset + newline)
    }

    /// The offset behind the line break that ends the line of an offset.
    pub(crate) fn next(&self, offset: usize) -> usize {
        let end = self.end(offset);
        let rest = self.text.get(end..).unwrap_or_default();
        end + if rest.starts_with("\r\n") { 2 } else { usize::from(!rest.is_empty()) }
    }

    /// How many characters precede an offset on its line.
    pub(crate) fn column(&self, offset: usize) -> usize {
        self.text.get(self.start(offset)..offset).unwrap_or_default().chars().count()
    }

    /// The spaces that the line of an offset begins with.
    pub(crate) fn indent(&self, offset: usize) -> usize {
        let line = self.text.get(self.start(offset)..).unwrap_or_default();
        line.len() - line.trim_start_matches(' ').len()
    }

    /// Whether only white space precedes an offset on its line.
    pub(crate) fn is_first(&self, offset: usize) -> bool {
        self.text.get(self.start(offset)..offset).unwrap_or_default().trim().is_empty()
    }

    fn is_blank(&self, line_start: usize) -> bool {
        self.text.get(line_start..self.end(line_start)).unwrap_or_default().trim().is_empty()
    }

    /// The start of the line above the line that begins at an offset.
    fn above(&self, line_start: usize) -> Option<usize> {
        let before = self.text.get(..line_start)?;
        let before = before.strip_suffix('\n').map_or(before, |text| text.strip_suffix('\r').unwrap_or(text));
        let before = before.strip_suffix('\r').unwrap_or(before);
        (before.len() < line_start).then(|| self.start(before.len()))
    }

    /// Whether a line holds nothing but a comment, and the column of its `#`.
    fn comment_column(&self, line_start: usize) -> Option<usize> {
        let line = self.text.get(line_start..self.end(line_start))?;
        let hash = line_start + (line.len() - line.trim_start().len());
        let found = self.comments.binary_search_by_key(&hash, |comment| comment.span.start as usize).is_ok();
        found.then(|| self.column(hash))
    }

    /// Where the comments right above a place begin; the start of its own line when there are none.
    pub(crate) fn leading(&self, offset: usize, column: usize) -> usize {
        let mut from = self.start(offset);
        while let Some(above) = self.above(from)
            && self.comment_column(above) == Some(column)
        {
            from = above;
        }
        from
    }

    pub(crate) fn has_blank_before(&self, offset: usize) -> bool {
        let from = self.leading(offset, self.column(offset));
        self.above(from).is_some_and(|above| self.is_blank(above))
    }

    /// The lines of an entry or an item, with the comments that belong to it and one of the empty lines
    /// around it.
    pub(crate) fn block(
        &self,
        start: usize,
        end: usize,
        column: usize,
        takes_comments: bool,
    ) -> (usize, usize) {
        let mut from = if takes_comments { self.leading(start, column) } else { self.start(start) };
        let mut to = self.next(end);
        while to < self.text.len() && self.comment_column(to).is_some_and(|own| own > column) {
            to = self.next(to);
        }
        let ends = to >= self.text.len() || self.is_blank(to) || self.indent(to) < column;
        if ends
            && let Some(above) = self.above(from)
            && above < from
            && self.is_blank(above)
        {
            from = above;
        }
        (from, to)
    }

    /// The dash of a block sequence's item.
    pub(crate) fn dash(&self, item_start: usize) -> Option<usize> {
        let before = self.text.get(..item_start)?;
        let trimmed = before.trim_end_matches([' ', '\t', '\n', '\r']);
        trimmed.ends_with('-').then(|| trimmed.len() - 1)
    }

    /// The lines of an entry or an item with their comments, moved to another column, without the
    /// indentation of the first one. `None` when it does not begin its line.
    pub(crate) fn copied(&self, start: usize, end: usize, column: usize, newline: &str) -> Option<String> {
        if !self.is_first(start) {
            return None;
        }
        let own = self.column(start);
        let from = self.leading(start, own);
        let text = self.text.get(from..self.end(end))?;
        let mut out = String::new();
        for (index, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let indent = line.len() - line.trim_start_matches(' ').len();
            if index > 0 {
                out.push_str(newline);
            }
            if line.trim().is_empty() {
                continue;
            }
            let moved = indent.checked_sub(own)?;
            if index > 0 {
                out.push_str(&" ".repeat(column));
            }
            out.push_str(&" ".repeat(moved));
            out.push_str(line.get(indent..)?);
        }
        Some(out)
    }
}
