//! Static analysis of a code transform: it parses, never runs.

pub(crate) mod builtins;
mod entry;
mod facts;
mod modules;
pub(crate) mod parse;
mod placement;
mod reads;
mod top_level_statement;
mod unavailable_import;
mod undefined_name;
mod unsupported_python;

pub use modules::MODULES;
pub use reads::TransformReads;
use ruff_python_ast::Stmt;
use stave_diag::codes::script::INVALID_PYTHON;
use stave_diag::{Diagnostic, Embedded, Span};

use crate::Used;

/// Everything that can be said about a code transform without running it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransformCheck {
    pub diagnostics: Vec<Diagnostic>,
    pub facts: TransformFacts,
}

/// What the checks of a flow need to know about a transform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransformFacts {
    /// Literal keys of `inputs`: `inputs['x']` and `inputs.get('x')`.
    pub inputs: Vec<Used>,
    /// Whether `inputs` lists every use; false when `inputs` is also passed on or walked over.
    pub inputs_complete: bool,
    /// Attributes of `context`: `context.x` and `context.get('x')`.
    pub context: Vec<Used>,
    pub context_complete: bool,
    pub state: Vec<StateUse>,
    /// Whether `state` lists every use.
    pub state_complete: bool,
    /// One for each `return` of `transform` itself.
    pub returns: Vec<Returned>,
    /// Whether the function is an `async def`.
    pub is_async: bool,
    /// Where `transform` itself first awaits something.
    pub first_await: Option<Span>,
    /// Everything that the code may read and write. It names too much rather than too little, unlike the lists
    /// above, which are for findings about single names.
    pub reads: TransformReads,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateMethod {
    Get,
    Set,
    Delete,
}

/// A use of `state`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateUse {
    pub method: StateMethod,
    /// The field, when it is a literal.
    pub key: Option<String>,
    pub span: Span,
}

/// What one `return` gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    pub span: Span,
    /// The literal keys of a returned dict display; empty when something else is returned.
    pub keys: Vec<Used>,
    /// Whether `keys` are all the keys there are.
    pub complete: bool,
}

/// Checks a code transform. `fallback` is where to report that there is no code at all to point at.
#[must_use]
pub fn check_transform(code: &Embedded, fallback: Span) -> TransformCheck {
    let module = match parse::module(code.text()) {
        Ok(module) => module,
        Err(fault) => {
            let span = if fault.range.is_empty() { fallback } else { code.span(fault.range) };
            let diagnostic =
                Diagnostic::new(INVALID_PYTHON, span, format!("invalid Python: {}", fault.message));
            return TransformCheck { diagnostics: vec![diagnostic], facts: TransformFacts::default() };
        }
    };
    let mut diagnostics = Vec::new();
    let transform = entry::check(code, &module.body, fallback, &mut diagnostics);
    top_level_statement::check(code, &module.body, &mut diagnostics);
    placement::check(code, &module.body, &mut diagnostics);
    unavailable_import::check(code, &module.body, &mut diagnostics);
    unsupported_python::check(code, &module.body, &mut diagnostics);
    undefined_name::check(code, &module.body, &mut diagnostics);
    let mut facts = transform
        .map_or_else(TransformFacts::default, |transform| facts::collect(code, transform, &mut diagnostics));
    facts.reads =
        transform.map_or_else(TransformReads::everything, |transform| reads::of(&module.body, transform));
    stave_diag::sort(&mut diagnostics);
    TransformCheck { diagnostics, facts }
}

/// Whether the code's `transform` is an `async def`. False when there is none.
#[must_use]
pub fn transform_is_async(code: &str) -> bool {
    parse::module(code).is_ok_and(|module| {
        module.body.iter().any(|stmt| {
            matches!(stmt, Stmt::FunctionDef(function) if function.name.as_str() == "transform" && function.is_async)
        })
    })
}
