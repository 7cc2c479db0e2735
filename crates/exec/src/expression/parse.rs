//! Text to a syntax tree of bounded size, and the check that it stays within what can be evaluated.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Expr, Mod, Number};
use ruff_python_parser::{Mode, ParseOptions, lexer, parse_unchecked};

use super::{ExpressionError, MAX_TEXT, functions, methods};

/// How many tokens an expression may have. The tree is never deeper than this, so walking it is safe.
const MAX_TOKENS: usize = 400;

/// Parses a text that is one expression.
pub(super) fn expression(text: &str) -> Result<Expr, ExpressionError> {
    let fail = |reason: String| ExpressionError::Syntax { text: shown(text), reason };
    if text.trim().is_empty() {
        return Err(fail("it is empty".to_owned()));
    }
    if text.len() > MAX_TEXT || has_too_many_tokens(text) {
        return Err(fail("it is too long".to_owned()));
    }
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Expression));
    if let Some(error) = parsed.errors().first() {
        return Err(fail(error.error.to_string()));
    }
    match parsed.into_syntax() {
        Mod::Expression(expression) => Ok(*expression.body),
        Mod::Module(_) => Err(fail("it is not one expression".to_owned())),
    }
}

/// The tree of a text that uses only what can be evaluated. Names are looked up by [`super::analysis`], because
/// earlier statements decide which exist.
pub(super) fn checked(text: &str) -> Result<Expr, ExpressionError> {
    let text = text.trim();
    let tree = expression(text)?;
    match supported(&tree) {
        Ok(()) => Ok(tree),
        Err(reason) => Err(ExpressionError::Evaluation { text: shown(text), reason }),
    }
}

/// Checks a text without evaluating it: it parses, and uses only what can be evaluated.
pub fn check(text: &str) -> Result<(), ExpressionError> {
    checked(text).map(drop)
}

fn has_too_many_tokens(text: &str) -> bool {
    let mut lexer = lexer::lex(text, Mode::Expression);
    for _ in 0..MAX_TOKENS {
        if lexer.next_token() == TokenKind::EndOfFile {
            return false;
        }
    }
    true
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(80).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn supported(tree: &Expr) -> Result<(), String> {
    let all = |expressions: &[Expr]| expressions.iter().try_for_each(supported);
    match tree {
        Expr::BoolOp(operation) => all(&operation.values),
        Expr::BinOp(operation) => supported(&operation.left).and_then(|()| supported(&operation.right)),
        Expr::UnaryOp(operation) => supported(&operation.operand),
        Expr::If(choice) => {
            supported(&choice.test)?;
            supported(&choice.body)?;
            supported(&choice.orelse)
        }
        Expr::Dict(dict) => dict.items.iter().try_for_each(|item| {
            supported(item.key.as_ref().ok_or("`**` is not available here")?)?;
            supported(&item.value)
        }),
        Expr::Compare(comparison) => supported(&comparison.left).and_then(|()| all(&comparison.comparators)),
        Expr::Call(call) => {
            if !call.arguments.keywords.is_empty() {
                return Err("arguments by name are not available here".to_owned());
            }
            match &*call.func {
                Expr::Name(name) => functions::known(name.id.as_str())?,
                Expr::Attribute(attribute) => {
                    methods::known(attribute.attr.as_str())?;
                    supported(&attribute.value)?;
                }
                _ => return Err("only functions by name can be called here".to_owned()),
            }
            all(&call.arguments.args)
        }
        Expr::NumberLiteral(number) => match number.value {
            Number::Complex { .. } => Err("complex numbers are not available here".to_owned()),
            _ => Ok(()),
        },
        Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) | Expr::Name(_) => Ok(()),
        Expr::Attribute(attribute) => supported(&attribute.value),
        Expr::Subscript(subscript) => {
            supported(&subscript.value)?;
            match &*subscript.slice {
                Expr::Slice(slice) => {
                    if slice.step.is_some() {
                        return Err("a slice with a step is not available here".to_owned());
                    }
                    [&slice.lower, &slice.upper].into_iter().flatten().try_for_each(|bound| supported(bound))
                }
                index => supported(index),
            }
        }
        Expr::List(list) => all(&list.elts),
        Expr::Tuple(tuple) => all(&tuple.elts),
        _ => Err(unavailable(tree).to_owned()),
    }
}

/// What a part of Python that is not here is called.
pub(super) fn unavailable(tree: &Expr) -> &'static str {
    match tree {
        Expr::Lambda(_) => "`lambda` is not available here",
        Expr::Named(_) => "`:=` inside an expression is not available here",
        Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
            "a loop inside an expression is not available here"
        }
        Expr::FString(_) | Expr::TString(_) => "a formatted text is not available here",
        Expr::Set(_) => "a set is not available here; write a list",
        Expr::BytesLiteral(_) => "bytes are not available here",
        Expr::Starred(_) => "`*` before a value is not available here",
        _ => "this part of Python is not available here",
    }
}
