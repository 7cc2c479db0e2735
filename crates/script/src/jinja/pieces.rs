//! Rendering in pieces: the author's own text, and each printed value with the names it came from.
//!
//! Every `{{ … }}` is wrapped in a call that keeps the value and a number; the printer puts the number and
//! two marks around the value's text, and the marks are taken out again afterwards. The marks are
//! characters that no text may exchange (Unicode's noncharacters); where a value holds one all the same,
//! it is replaced, so that a value cannot pass itself off as the author's text.
//!
//! Text that a template captures (a macro, a `set` block) is not marked inside, because the template may
//! measure or change it; what prints it is marked. A template with a `filter` or `call` block is one piece
//! of everything it uses, since its blocks print without an expression of their own.
//!
//! What a piece reads is answered by [`super::reads`], for the checker too.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Object as EngineObject;
use minijinja::{Environment, Output, Value as Engine};
use serde::{Deserialize, Serialize};

use super::reads::{self, Printed, TemplateReads};
use super::syntax;
use crate::reads::Read;

/// The function that wraps a printed expression.
const WRAP: &str = "__piece";
const OPEN: char = '\u{fdd0}';
const NUMBERED: char = '\u{fdd1}';
const CLOSE: char = '\u{fdd2}';

/// A run of rendered text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedPiece {
    pub text: String,
    /// The names of the context that the text came from, sorted; empty for the author's own text.
    pub roots: Vec<String>,
    /// Everything that the text reveals something about. The author's own text reveals what the template's
    /// conditions read.
    pub reads: BTreeSet<Read>,
}

/// A template with every printed expression wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) source: String,
    /// By number: what the expression prints.
    printed: Vec<Printed>,
    /// What the author's own text reveals something about.
    control: BTreeSet<Read>,
    /// Where text was inserted into the template, in its own offsets, and how much.
    insertions: Vec<(usize, usize)>,
    /// Whether the rendered text cannot be told apart, and every part comes from all names of `roots`.
    whole: bool,
}

impl Marked {
    /// Wraps the printed expressions of a template. `names` are the names of its context.
    pub(super) fn new(template: &str, names: &[&str]) -> Self {
        // A text without a tree does not render either, and the renderer reports it.
        let found = syntax::tree(template).map(|tree| reads::of_tree(&tree, names));
        let found = found.unwrap_or_else(|_| TemplateReads::default());
        let mut marked = Marked {
            source: String::new(),
            printed: Vec::new(),
            control: found.control.clone(),
            insertions: Vec::new(),
            whole: false,
        };
        let (mut copied, mut opened) = (0, 0);
        let mut captured: Vec<&'static str> = Vec::new();
        let mut statement: Vec<Token<'_>> = Vec::new();
        for (token, span) in tokenize(template, false, SyntaxConfig::default()).map_while(Result::ok) {
            match token {
                Token::VariableStart => {
                    statement.clear();
                    opened = span.end_offset as usize;
                    if captured.is_empty() {
                        let text = format!(" {WRAP}({}, (", marked.printed.len());
                        marked.insert(template, &mut copied, opened, &text);
                    }
                }
                Token::VariableEnd => {
                    let end = span.start_offset as usize;
                    if captured.is_empty() {
                        marked.printed.push(found.printed(&(opened..end)));
                        marked.insert(template, &mut copied, end, ")) ");
                    }
                }
                Token::BlockStart => statement.clear(),
                Token::BlockEnd => {
                    marked.whole |= matches!(statement.first(), Some(Token::Ident("filter" | "call")));
                    capture(&statement, &mut captured);
                }
                token => statement.push(token),
            }
        }
        if marked.whole {
            let printed = vec![Printed::of(found.all(), &found.control)];
            let source = template.to_owned();
            return Marked { source, printed, insertions: Vec::new(), ..marked };
        }
        marked.source.push_str(template.get(copied..).unwrap_or_default());
        marked
    }

    fn insert(&mut self, template: &str, copied: &mut usize, at: usize, text: &str) {
        self.source.push_str(template.get(*copied..at).unwrap_or_default());
        self.source.push_str(text);
        self.insertions.push((at, text.len()));
        *copied = at;
    }

    /// A range of the wrapped text as one of the template.
    pub(super) fn original(&self, range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let back = |offset: usize| {
            let mut added = 0;
            for (at, length) in &self.insertions {
                if at + added + length > offset {
                    return (offset - added.min(offset)).min(*at);
                }
                added += length;
            }
            offset - added
        };
        back(range.start)..back(range.end)
    }

    /// Cuts rendered text at the marks.
    pub(super) fn cut(&self, rendered: &str) -> Vec<RenderedPiece> {
        let mut pieces: Vec<RenderedPiece> = Vec::new();
        if self.whole {
            self.push(&mut pieces, rendered, Some(&0));
            return pieces;
        }
        let mut open: Vec<usize> = Vec::new();
        let mut rest = rendered;
        while let Some(at) = rest.find([OPEN, CLOSE]) {
            let (before, after) = rest.split_at(at);
            self.push(&mut pieces, before, open.first());
            if let Some(after) = after.strip_prefix(CLOSE) {
                open.pop();
                rest = after;
            } else {
                let after = after.strip_prefix(OPEN).unwrap_or(after);
                let (number, after) = after.split_once(NUMBERED).unwrap_or((after, ""));
                open.push(number.parse().unwrap_or(usize::MAX));
                rest = after;
            }
        }
        self.push(&mut pieces, rest, open.first());
        pieces
    }

    fn push(&self, pieces: &mut Vec<RenderedPiece>, text: &str, number: Option<&usize>) {
        if text.is_empty() {
            return;
        }
        let printed = number.and_then(|number| self.printed.get(*number)).cloned();
        let Printed { roots, reads } =
            printed.unwrap_or_else(|| Printed { roots: Vec::new(), reads: self.control.clone() });
        match pieces.last_mut() {
            Some(last) if last.roots == roots && last.reads == reads => last.text.push_str(text),
            _ => pieces.push(RenderedPiece { text: text.to_owned(), roots, reads }),
        }
    }
}

/// Follows the beginnings and ends of blocks whose text the template keeps instead of printing it.
fn capture(tokens: &[Token<'_>], captured: &mut Vec<&'static str>) {
    match tokens {
        [Token::Ident("macro"), ..] => captured.push("endmacro"),
        [Token::Ident("set"), Token::Ident(_), rest @ ..]
            if !rest.iter().any(|token| matches!(token, Token::Assign)) =>
        {
            captured.push("endset");
        }
        [Token::Ident(word), ..] if captured.last().is_some_and(|end| end == word) => {
            captured.pop();
        }
        _ => {}
    }
}

/// A printed value with the number of its expression.
#[derive(Debug)]
struct Wrapped {
    number: usize,
    value: Engine,
}

impl EngineObject for Wrapped {
    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.value)
    }
}

/// Adds the wrapping function to an environment.
pub(super) fn install(environment: &mut Environment<'_>) {
    environment.add_function(WRAP, |number: usize, value: Engine| {
        if value.is_undefined() {
            return Err(minijinja::Error::from(minijinja::ErrorKind::UndefinedError));
        }
        Ok(Engine::from_object(Wrapped { number, value }))
    });
}

/// Prints a wrapped value between marks with `print`; `false` when the value is not wrapped.
pub(super) fn print_wrapped(
    output: &mut Output<'_>,
    value: &Engine,
    print: fn(&mut Output<'_>, &Engine) -> Result<(), minijinja::Error>,
) -> Result<bool, minijinja::Error> {
    let Some(wrapped) = value.downcast_object_ref::<Wrapped>() else { return Ok(false) };
    let open = format!("{OPEN}{}{NUMBERED}", wrapped.number);
    output.write_str(&open).map_err(minijinja::Error::from)?;
    print(output, &wrapped.value)?;
    output.write_str(CLOSE.encode_utf8(&mut [0; 4])).map_err(minijinja::Error::from)?;
    Ok(true)
}

/// A value's text without characters that could pass for marks.
pub(super) fn unmarked(text: &str) -> std::borrow::Cow<'_, str> {
    let is_mark = |character: char| matches!(character, OPEN | NUMBERED | CLOSE);
    if text.contains(is_mark) { text.replace(is_mark, "\u{fffd}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use crate::jinja::{RenderLimits, Renderer};
    use stave_canon::parse;

    fn shown(template: &str, context: &str) -> Vec<String> {
        let context = parse(context).unwrap().as_object().unwrap().clone();
        let renderer = Renderer::new(RenderLimits::default());
        let pieces = renderer.render_pieces(template, &context).unwrap();
        let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(renderer.render(template, &context).unwrap(), whole, "pieces add up to the whole");
        pieces.iter().map(|piece| format!("{}:{}", piece.roots.join("+"), piece.text)).collect()
    }

    #[test]
    fn values_are_told_from_the_authors_text_with_the_names_they_came_from() {
        assert_eq!(shown("Q: {{ q | upper }}!", r#"{"q": "why"}"#), [":Q: ", "q:WHY", ":!"]);
        assert_eq!(
            shown(
                "{% for m in history %}{{ m.role }}: {{ m.text ~ q }}{% endfor %}",
                r#"{"history": [{"role": "u", "text": "a"}], "q": "b"}"#
            ),
            ["history:u", ":: ", "history+q:ab"]
        );
        assert_eq!(shown("{% set x = q %}a  {{- x }} b", r#"{"q": 1}"#), [":a", "q:1", ": b"]);
        assert_eq!(shown("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(q) }}", r#"{"q": "v"}"#), ["q:<v>"]);
    }

    #[test]
    fn a_value_can_not_pass_itself_off_as_the_authors_text() {
        assert_eq!(shown("{{ q }}", "{\"q\": \"a\u{fdd2}b\"}"), ["q:a\u{fffd}b"]);
    }
}
