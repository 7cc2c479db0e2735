//! Python text to a syntax tree of bounded depth.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Expr, Mod, ModModule};
use ruff_python_parser::{Mode, ParseError, ParseErrorType, ParseOptions, lexer, parse_unchecked};
use ruff_text_size::{Ranged, TextRange};

use crate::chain::Chain;

/// The largest text that is parsed.
pub(crate) const MAX_SOURCE: usize = 256 * 1024;

/// Why a text has no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxFault {
    pub(crate) message: String,
    pub(crate) range: std::ops::Range<usize>,
}

/// Parses a module.
pub(crate) fn module(text: &str) -> Result<ModModule, SyntaxFault> {
    match tree(text, Mode::Module)? {
        Mod::Module(module) => Ok(module),
        Mod::Expression(expression) => {
            Err(SyntaxFault { message: "expected statements".to_owned(), range: bytes(expression.range()) })
        }
    }
}

/// Parses a text that is one expression.
pub(crate) fn expression(text: &str) -> Result<Box<Expr>, SyntaxFault> {
    match tree(text, Mode::Expression)? {
        Mod::Expression(expression) => Ok(expression.body),
        Mod::Module(module) => {
            Err(SyntaxFault { message: "expected one expression".to_owned(), range: bytes(module.range()) })
        }
    }
}

/// The bytes of a syntax node.
pub(crate) fn bytes(range: TextRange) -> std::ops::Range<usize> {
    range.start().to_usize()..range.end().to_usize()
}

fn tree(text: &str, mode: Mode) -> Result<Mod, SyntaxFault> {
    let first_line = 0..text.lines().next().unwrap_or_default().len();
    if text.len() > MAX_SOURCE {
        let message = format!("the text is longer than {MAX_SOURCE} bytes");
        return Err(SyntaxFault { message, range: first_line });
    }
    if is_too_deep(text, mode) {
        return Err(SyntaxFault { message: "nested too deeply".to_owned(), range: first_line });
    }
    let parsed = parse_unchecked(text, ParseOptions::from(mode));
    match parsed.errors().iter().min_by_key(|error| error.location.start()) {
        Some(error) => Err(fault(text, error)),
        None => Ok(parsed.into_syntax()),
    }
}

/// A fault where the text ends, or a line does, is shown at the last thing written before it, because
/// nothing can be seen at the place itself.
fn fault(text: &str, error: &ParseError) -> SyntaxFault {
    let mut range = bytes(error.location);
    range.end = range.end.min(text.len());
    range.start = range.start.min(range.end);
    let rest = text.get(range.start..).unwrap_or_default();
    if rest.is_empty() || rest.starts_with(['\n', '\r']) {
        range = crate::chain::last_word(text.get(..range.start).unwrap_or_default());
    }
    let message = match &error.error {
        ParseErrorType::RecursionLimitExceeded => "nested too deeply".to_owned(),
        other => lower_first(&other.to_string()),
    };
    SyntaxFault { message, range }
}

fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    match characters.next() {
        Some(first) if !characters.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => message.to_owned(),
    }
}

fn is_too_deep(text: &str, mode: Mode) -> bool {
    let mut chain = Chain::new();
    let mut lexer = lexer::lex(text, mode);
    loop {
        match lexer.next_token() {
            TokenKind::EndOfFile => return false,
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => chain.open(),
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => chain.close(),
            TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Star
            | TokenKind::Slash
            | TokenKind::DoubleSlash
            | TokenKind::Percent
            | TokenKind::DoubleStar
            | TokenKind::LeftShift
            | TokenKind::RightShift
            | TokenKind::Vbar
            | TokenKind::Amper
            | TokenKind::CircumFlex
            | TokenKind::At
            | TokenKind::Dot => chain.link(),
            TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringStart
            | TokenKind::FStringMiddle
            | TokenKind::FStringEnd
            | TokenKind::NonLogicalNewline
            | TokenKind::Comment => {}
            _ => chain.separate(),
        }
        if chain.is_too_deep() {
            return true;
        }
    }
}
