//! The scalars that the fast reader knows: plain and quoted ones on one line, and literal blocks.

use std::borrow::Cow;

use granit_parser::ScalarStyle;

use super::FastReader;

/// A scalar on one line.
pub(super) struct Scalar<'text> {
    pub(super) value: Cow<'text, str>,
    pub(super) style: ScalarStyle,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl<'text> FastReader<'text> {
    /// A plain or quoted scalar on one line, without going past it.
    pub(super) fn scalar(&self, in_flow: bool) -> Option<Scalar<'text>> {
        match self.peek()? {
            b'"' => self.double_quoted(),
            b'\'' => self.single_quoted(),
            _ => self.plain(in_flow),
        }
    }

    fn plain(&self, in_flow: bool) -> Option<Scalar<'text>> {
        let start = self.at;
        match self.peek()? {
            b'-' if self.is_blank(start + 1) => return None,
            b'-' if in_flow && is_flow_indicator(self.byte(start + 1)) => return None,
            b'?' | b':' | b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@' | b'`' | b',' | b'#' => return None,
            b'[' | b']' | b'{' | b'}' => return None,
            _ => {}
        }
        let mut end = start;
        let mut at = start;
        while let Some(byte) = self.byte(at) {
            match byte {
                b'\n' => break,
                b' ' => {
                    at += 1;
                    continue;
                }
                b':' if self.is_blank(at + 1) => break,
                b':' if in_flow && is_flow_indicator(self.byte(at + 1)) => return None,
                b'#' if self.byte(at - 1) == Some(b' ') => break,
                b',' | b'[' | b']' | b'{' | b'}' if in_flow => break,
                _ => {}
            }
            at += 1;
            end = at;
        }
        let value = Cow::Borrowed(self.slice(start, end)?);
        Some(Scalar { value, style: ScalarStyle::Plain, start, end })
    }

    fn single_quoted(&self) -> Option<Scalar<'text>> {
        let start = self.at;
        let mut at = start + 1;
        let mut doubled = false;
        loop {
            match self.byte(at)? {
                b'\n' => return None,
                b'\'' if self.byte(at + 1) == Some(b'\'') => {
                    doubled = true;
                    at += 2;
                }
                b'\'' => break,
                _ => at += 1,
            }
        }
        let inside = self.slice(start + 1, at)?;
        let value = if doubled { Cow::Owned(inside.replace("''", "'")) } else { Cow::Borrowed(inside) };
        Some(Scalar { value, style: ScalarStyle::SingleQuoted, start, end: at + 1 })
    }

    fn double_quoted(&self) -> Option<Scalar<'text>> {
        let start = self.at;
        let mut at = start + 1;
        let mut decoded = String::new();
        let mut run = at;
        loop {
            match self.byte(at)? {
                b'\n' => return None,
                b'"' => break,
                b'\\' => {
                    decoded.push_str(self.slice(run, at)?);
                    decoded.push(match self.byte(at + 1)? {
                        b'n' => '\n',
                        b't' => '\t',
                        b'r' => '\r',
                        byte @ (b'"' | b'\\' | b'/') => char::from(byte),
                        _ => return None,
                    });
                    at += 2;
                    run = at;
                }
                _ => at += 1,
            }
        }
        let rest = self.slice(run, at)?;
        let value = if run == start + 1 {
            Cow::Borrowed(rest)
        } else {
            decoded.push_str(rest);
            Cow::Owned(decoded)
        };
        Some(Scalar { value, style: ScalarStyle::DoubleQuoted, start, end: at + 1 })
    }

    /// A literal block in a container at the column `parent`.
    pub(super) fn literal(&mut self, parent: isize) -> Option<()> {
        let mut at = self.at + 1;
        let chomping = self.byte(at).filter(|byte| matches!(byte, b'+' | b'-'));
        at += usize::from(chomping.is_some());
        self.at = at;
        at = self.skip_spaces();
        if self.byte(at) != Some(b'\n') {
            return None;
        }
        at += 1;
        let mut value = String::new();
        let mut indent = None;
        let mut first = at;
        // Line breaks that are content only when a line with content follows.
        let mut pending = 0;
        while at < self.bytes.len() {
            let end = self.line_end(at);
            let line = self.slice(at, end)?;
            let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
            let has_content = spaces < line.len();
            let indent = match indent {
                Some(indent) => indent,
                None if has_content => {
                    let columns = isize::try_from(spaces).ok()?;
                    if columns <= parent || spaces == 0 {
                        return None;
                    }
                    first = at + spaces;
                    *indent.insert(spaces)
                }
                // Blank lines ahead of the content may not reach further than it.
                None if spaces == 0 => {
                    pending += 1;
                    at = end + 1;
                    continue;
                }
                None => return None,
            };
            if spaces < indent && has_content {
                if isize::try_from(spaces).ok()? > parent {
                    return None;
                }
                break;
            }
            // The full parser knows what an unfinished last line is.
            if end == self.bytes.len() {
                return None;
            }
            if spaces > indent || has_content {
                value.extend(std::iter::repeat_n('\n', pending));
                pending = 1;
                value.push_str(line.get(indent..)?);
            } else {
                pending += 1;
            }
            at = end + 1;
        }
        indent?;
        match chomping {
            Some(b'-') => {}
            Some(_) => value.extend(std::iter::repeat_n('\n', pending)),
            None => value.push('\n'),
        }
        self.reader.finish_scalar(&value, ScalarStyle::Literal, first..at.min(self.bytes.len()), 0, None);
        self.at = at.min(self.bytes.len());
        self.line_start = self.at;
        self.next_token()?;
        self.fresh = true;
        Some(())
    }
}

pub(super) fn is_flow_indicator(byte: Option<u8>) -> bool {
    matches!(byte, Some(b',' | b'[' | b']' | b'{' | b'}'))
}
