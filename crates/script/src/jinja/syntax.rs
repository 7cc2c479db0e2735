//! Template text to a syntax tree of bounded depth.

use minijinja::machinery::{Token, ast, parse, tokenize};
use minijinja::syntax::SyntaxConfig;

use crate::chain::{Chain, last_word};

/// The largest template that is parsed.
pub(super) const MAX_TEMPLATE: usize = 1024 * 1024;
/// `elif` nests one tree in the other, so a row of them counts as depth.
const MAX_ELIFS: usize = 200;

/// Why a text has no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxFault {
    pub(super) message: String,
    pub(super) range: std::ops::Range<usize>,
}

pub(super) fn tree(text: &str) -> Result<ast::Stmt<'_>, SyntaxFault> {
    bounded(text)?;
    parse(text, "template", SyntaxConfig::default()).map_err(|error| {
        let message = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let range = error.range().unwrap_or_else(|| line_range(text, error.line().unwrap_or(1)));
        SyntaxFault { message, range: visible(text, range) }
    })
}

/// Refuses a text whose tree would be too deep to walk.
pub(super) fn bounded(text: &str) -> Result<(), SyntaxFault> {
    if text.len() > MAX_TEMPLATE {
        let message = format!("the template is longer than {MAX_TEMPLATE} bytes");
        return Err(SyntaxFault { message, range: line_range(text, 1) });
    }
    let mut chain = Chain::new();
    let mut elifs = 0;
    // A text the tokenizer stops at is the parser's to report.
    for (token, span) in tokenize(text, false, SyntaxConfig::default()).map_while(Result::ok) {
        match token {
            Token::VariableStart | Token::BlockStart => chain = Chain::new(),
            Token::TemplateData(_) | Token::Comma | Token::Colon | Token::Assign => chain.separate(),
            Token::BracketOpen | Token::ParenOpen | Token::BraceOpen => chain.open(),
            Token::BracketClose | Token::ParenClose | Token::BraceClose => chain.close(),
            Token::Ident("elif") => elifs += 1,
            Token::Ident("not" | "and" | "or" | "is" | "in" | "if" | "else")
            | Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::FloorDiv
            | Token::Pow
            | Token::Mod
            | Token::Dot
            | Token::Tilde
            | Token::Pipe
            | Token::Eq
            | Token::Ne
            | Token::Gt
            | Token::Gte
            | Token::Lt
            | Token::Lte => chain.link(),
            _ => {}
        }
        if chain.is_too_deep() || elifs > MAX_ELIFS {
            let range = span.start_offset as usize..span.end_offset as usize;
            return Err(SyntaxFault { message: "nested too deeply".to_owned(), range: visible(text, range) });
        }
    }
    Ok(())
}

/// A range within the text, on character boundaries; one at a line's end becomes the last thing before
/// it, because nothing can be seen at the place itself.
fn visible(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let start = text.floor_char_boundary(range.start);
    let end = text.floor_char_boundary(range.end).max(start);
    let rest = text.get(start..).unwrap_or_default();
    if rest.is_empty() || rest.starts_with(['\n', '\r']) {
        return last_word(text.get(..start).unwrap_or_default());
    }
    start..end
}

fn line_range(text: &str, line: usize) -> std::ops::Range<usize> {
    let mut start = 0;
    for (index, content) in text.split_inclusive('\n').enumerate() {
        if index + 1 == line {
            return start..start + content.trim_end().len();
        }
        start += content.len();
    }
    0..text.lines().next().unwrap_or_default().len()
}
