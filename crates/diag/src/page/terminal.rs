//! A page as text for a terminal: headings stand out, paragraphs are wrapped, examples are indented.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr as _;

use super::examples::fence;
use crate::Colour;
use crate::render::visible;

const WIDTH: usize = 80;
const INDENTATION: &str = "    ";

/// The page as `stave explain` prints it. It knows the Markdown that pages use: headings, paragraphs, lists
/// and fenced texts; everything else is shown as it is written.
#[must_use]
pub fn to_terminal(page: &str, colour: Colour) -> String {
    let page = visible(page);
    let mut writer = Writer { out: String::new(), paragraph: Paragraph::default(), colour };
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some((fence, _)) = fence(trimmed) {
            writer.end_paragraph();
            for code in lines.by_ref().take_while(|code| code.trim() != fence) {
                writer.code(code);
            }
        } else if let Some(heading) = heading(trimmed) {
            writer.end_paragraph();
            writer.heading(heading);
        } else if trimmed.is_empty() {
            writer.end_paragraph();
            writer.blank();
        } else if trimmed.starts_with('|') {
            writer.end_paragraph();
            writer.line(trimmed);
        } else {
            writer.prose(trimmed);
        }
    }
    writer.end_paragraph();
    let mut out = writer.out;
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim())
}

struct Writer {
    out: String,
    paragraph: Paragraph,
    colour: Colour,
}

/// Words that wait for the end of their paragraph or list item.
#[derive(Default)]
struct Paragraph {
    /// The text before the first line: nothing, or the sign of a list item.
    lead: String,
    words: Vec<String>,
}

impl Writer {
    fn heading(&mut self, text: &str) {
        self.styled(Style::new().bold(), text);
        self.out.push('\n');
    }

    fn code(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.out.push_str(INDENTATION);
            self.styled(AnsiColor::Cyan.on_default(), line.trim_end());
        }
        self.out.push('\n');
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn prose(&mut self, line: &str) {
        let lead = list_sign(line);
        if !lead.is_empty() {
            self.end_paragraph();
            self.paragraph.lead = lead.to_owned();
        }
        let text = line.get(lead.len()..).unwrap_or_default();
        self.paragraph.words.extend(text.split_whitespace().map(str::to_owned));
    }

    fn end_paragraph(&mut self) {
        let Paragraph { lead, words } = std::mem::take(&mut self.paragraph);
        if words.is_empty() && lead.is_empty() {
            return;
        }
        let mut column = lead.width();
        self.out.push_str(&lead);
        for (index, word) in words.iter().enumerate() {
            if index > 0 && column + 1 + word.width() > WIDTH {
                self.out.push('\n');
                self.out.push_str(&" ".repeat(lead.width()));
                column = lead.width();
            } else if index > 0 {
                self.out.push(' ');
                column += 1;
            }
            self.out.push_str(word);
            column += word.width();
        }
        self.out.push('\n');
    }

    fn styled(&mut self, style: Style, text: &str) {
        match self.colour {
            Colour::Never => self.out.push_str(text),
            Colour::Always => {
                self.out.push_str(&style.render().to_string());
                self.out.push_str(text);
                self.out.push_str(&style.render_reset().to_string());
            }
        }
    }
}

/// The sign of a list item with the space after it, or nothing.
fn list_sign(line: &str) -> &str {
    let digits = line.len() - line.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let after = line.get(digits..).unwrap_or_default();
    let length = if digits > 0 && after.starts_with(". ") {
        digits + 2
    } else if digits == 0 && (after.starts_with("- ") || after.starts_with("* ")) {
        2
    } else {
        0
    };
    line.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# dangling-edge

## What it checks

An edge names a node that the flow does not have, so nothing would ever arrive there, and
a run would stop at it. Write the name of a node, or `_output`.

- first, a point that is long enough to need more than one line when it is wrapped at eighty columns
- second
1. numbered

| a | b |
|---|---|
| 1 | 2 |

## Example

```yaml
nodes:

  - id: a
```

## Fix

Add the node.

```yaml
nodes: []
```

## Limits

None known.
";

    #[test]
    fn a_page_reads_well_without_colour() {
        insta::assert_snapshot!(to_terminal(PAGE, Colour::Never));
    }

    #[test]
    fn colour_marks_headings_and_examples() {
        insta::assert_snapshot!(to_terminal(PAGE, Colour::Always).replace('\x1b', "␛"));
    }

    #[test]
    fn an_empty_page_is_an_empty_line() {
        assert_eq!(to_terminal("", Colour::Never), "\n");
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_shown(page in "(# |## |```|- |12. |\\| |漢|word |\n|\\PC){0,60}") {
            let shown = to_terminal(&page, Colour::Never);
            for word in visible(&page).split_whitespace() {
                let sign = word.chars().all(|letter| "#`-|".contains(letter)) || word.contains("```");
                if !sign && !page.contains("```") && !page.contains('#') {
                    proptest::prop_assert!(shown.contains(word), "{word:?} is lost");
                }
            }
        }
    }
}
