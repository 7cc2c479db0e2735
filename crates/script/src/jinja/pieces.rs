//! Rendering in pieces: the author's own text, and each printed value with the names it came from.
//!
//! Every `{{ … }}` is wrapped in a call that keeps the value and a number; the printer puts the number and
//! two marks around the value's text, and the marks are taken out again afterwards. The marks are
//! characters that no text may exchange (Unicode's noncharacters); where a value holds one all the same,
//! it is replaced, so that a value can not pass itself off as the author's text.
//!
//! Text that a template captures (a macro, a `set` block) is not marked inside, because the template may
//! measure or change it; what prints it is marked. A template with a `filter` or `call` block is one piece
//! of everything it uses, since its blocks print without an expression of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Object as EngineObject;
use minijinja::{Environment, Output, Value as Engine};
use serde::{Deserialize, Serialize};

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
}

/// A template with every printed expression wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) source: String,
    /// By number: the names that the expression uses.
    roots: Vec<Vec<String>>,
    /// Where text was inserted into the template, in its own offsets, and how much.
    insertions: Vec<(usize, usize)>,
    /// Whether the rendered text can not be told apart, and all names of `roots` stand for all of it.
    whole: bool,
}

impl Marked {
    /// Wraps the printed expressions of a template. `names` are the names of its context.
    pub(super) fn new(template: &str, names: &[&str]) -> Self {
        let mut marked =
            Marked { source: String::new(), roots: Vec::new(), insertions: Vec::new(), whole: false };
        let mut bound: BTreeMap<&str, Vec<String>> =
            names.iter().map(|name| (*name, vec![(*name).to_owned()])).collect();
        let mut copied = 0;
        let mut captured: Vec<Capture<'_>> = Vec::new();
        let mut statement: Vec<Token<'_>> = Vec::new();
        // A text the tokenizer stops at does not render either, and the renderer reports it.
        for (token, span) in tokenize(template, false, SyntaxConfig::default()).map_while(Result::ok) {
            match token {
                Token::VariableStart => {
                    statement.clear();
                    if captured.is_empty() {
                        let text = format!(" {WRAP}({}, (", marked.roots.len());
                        marked.insert(template, &mut copied, span.end_offset as usize, &text);
                    }
                }
                Token::VariableEnd => {
                    let roots = used(&statement, &bound);
                    match captured.last_mut() {
                        Some(capture) => capture.roots.extend(roots),
                        None => {
                            marked.roots.push(roots);
                            marked.insert(template, &mut copied, span.start_offset as usize, ")) ");
                        }
                    }
                }
                Token::BlockStart => statement.clear(),
                Token::BlockEnd => {
                    marked.whole |= matches!(statement.first(), Some(Token::Ident("filter" | "call")));
                    bind(&statement, &mut bound);
                    capture(&statement, &mut captured, &mut bound);
                }
                token => statement.push(token),
            }
        }
        if marked.whole {
            let all = bound.into_values().flatten().collect::<BTreeSet<_>>().into_iter().collect();
            let source = template.to_owned();
            return Marked { source, roots: vec![all], insertions: Vec::new(), whole: true };
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
        let roots = number.and_then(|number| self.roots.get(*number)).cloned().unwrap_or_default();
        match pieces.last_mut() {
            Some(last) if last.roots == roots => last.text.push_str(text),
            _ => pieces.push(RenderedPiece { text: text.to_owned(), roots }),
        }
    }
}

/// A block whose text the template keeps instead of printing it.
struct Capture<'t> {
    end: &'static str,
    /// The name that a `set` block gives to its text.
    name: Option<&'t str>,
    roots: Vec<String>,
}

/// Follows the beginnings and ends of blocks that capture text.
fn capture<'t>(
    tokens: &[Token<'t>],
    captured: &mut Vec<Capture<'t>>,
    bound: &mut BTreeMap<&'t str, Vec<String>>,
) {
    match tokens {
        [Token::Ident("macro"), ..] => {
            captured.push(Capture { end: "endmacro", name: None, roots: Vec::new() });
        }
        [Token::Ident("set"), Token::Ident(name), rest @ ..]
            if !rest.iter().any(|token| matches!(token, Token::Assign)) =>
        {
            captured.push(Capture { end: "endset", name: Some(name), roots: Vec::new() });
        }
        [Token::Ident(word), ..] if captured.last().is_some_and(|capture| capture.end == *word) => {
            let Some(capture) = captured.pop() else { return };
            if let Some(name) = capture.name {
                bound.entry(name).or_default().extend(capture.roots.iter().cloned());
            }
            if let Some(outer) = captured.last_mut() {
                outer.roots.extend(capture.roots);
            }
        }
        _ => {}
    }
}

/// The context names behind the identifiers of an expression. Attributes are not names.
fn used(tokens: &[Token<'_>], bound: &BTreeMap<&str, Vec<String>>) -> Vec<String> {
    let mut roots = Vec::new();
    let mut after_dot = false;
    for token in tokens {
        if let Token::Ident(name) = token
            && !after_dot
        {
            roots.extend(bound.get(name).into_iter().flatten().cloned());
        }
        after_dot = matches!(token, Token::Dot);
    }
    roots.sort();
    roots.dedup();
    roots
}

/// Remembers what loop variables, `set` and `with` stand for. Scopes are not told apart: a name that
/// stands for two values is labelled with both.
fn bind<'t>(tokens: &[Token<'t>], bound: &mut BTreeMap<&'t str, Vec<String>>) {
    let (head, split) = match tokens.first() {
        Some(Token::Ident("for")) => (1, tokens.iter().position(|token| matches!(token, Token::Ident("in")))),
        Some(Token::Ident("set" | "with")) => {
            (1, tokens.iter().position(|token| matches!(token, Token::Assign)))
        }
        _ => return,
    };
    let Some(split) = split else { return };
    let roots = used(tokens.get(split..).unwrap_or_default(), bound);
    for token in tokens.get(head..split).unwrap_or_default() {
        if let Token::Ident(name) = token {
            let known = bound.entry(name).or_default();
            known.extend(roots.iter().cloned());
            known.sort();
            known.dedup();
        }
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
