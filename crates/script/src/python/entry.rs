//! The `transform` function: there is exactly one, with exactly three parameters.

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};
use stave_diag::codes::script::{
    DUPLICATE_TRANSFORM_FUNCTION, MISSING_TRANSFORM_FUNCTION, WRONG_TRANSFORM_PARAMETERS,
};
use stave_diag::{Diagnostic, Embedded, Span};

use super::parse::bytes;

const SIGNATURE: &str = "def transform(inputs, context, state):";

/// Finds the function the runtime calls.
pub(super) fn check<'a>(
    code: &Embedded,
    body: &'a [Stmt],
    fallback: Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<&'a StmtFunctionDef> {
    let mut functions = body.iter().filter_map(|stmt| match stmt {
        Stmt::FunctionDef(function) if function.name.as_str() == "transform" => Some(function),
        _ => None,
    });
    let Some(first) = functions.next() else {
        diagnostics.push(missing(code, body, fallback));
        return None;
    };
    let first_span = code.span(bytes(first.name.range));
    for other in functions {
        diagnostics.push(
            Diagnostic::new(
                DUPLICATE_TRANSFORM_FUNCTION,
                code.span(bytes(other.name.range)),
                "`transform` is defined more than once",
            )
            .label(first_span, "first defined here")
            .help("keep one of them and rename the other"),
        );
    }
    check_parameters(code, first, diagnostics);
    Some(first)
}

fn missing(code: &Embedded, body: &[Stmt], fallback: Span) -> Diagnostic {
    let help = format!("write `{SIGNATURE}`");
    if let Some(bound) = body.iter().find_map(bound_to_something_else) {
        let message = "`transform` is not a function";
        return Diagnostic::new(MISSING_TRANSFORM_FUNCTION, code.span(bytes(bound)), message).help(help);
    }
    let text = code.text();
    let first = text.lines().find(|line| !line.trim().is_empty());
    let span = first.map_or(fallback, |line| {
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        code.span(start..start + line.trim_end().len())
    });
    Diagnostic::new(MISSING_TRANSFORM_FUNCTION, span, "the code defines no `transform` function").help(help)
}

/// Where a statement binds the name `transform` to anything but a function.
fn bound_to_something_else(stmt: &Stmt) -> Option<TextRange> {
    let is_transform = |target: &Expr| matches!(target, Expr::Name(name) if name.id.as_str() == "transform");
    match stmt {
        Stmt::Assign(assign) if assign.targets.iter().any(is_transform) => Some(assign.range()),
        Stmt::AnnAssign(assign) if is_transform(&assign.target) => Some(assign.range()),
        Stmt::ClassDef(class) if class.name.as_str() == "transform" => Some(class.name.range),
        Stmt::ImportFrom(import) => import
            .names
            .iter()
            .find(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str() == "transform")
            .map(Ranged::range),
        _ => None,
    }
}

fn check_parameters(code: &Embedded, function: &StmtFunctionDef, diagnostics: &mut Vec<Diagnostic>) {
    let parameters = &function.parameters;
    let positional = parameters.posonlyargs.len() + parameters.args.len();
    let plain = parameters.vararg.is_none() && parameters.kwarg.is_none() && parameters.kwonlyargs.is_empty();
    if positional == 3 && plain {
        return;
    }
    let message = if plain {
        let plural = if positional == 1 { "" } else { "s" };
        format!("`transform` has {positional} parameter{plural}, it must have three")
    } else {
        "`transform` must have three plain parameters".to_owned()
    };
    diagnostics.push(
        Diagnostic::new(WRONG_TRANSFORM_PARAMETERS, code.span(bytes(parameters.range)), message)
            .help(format!("write `{SIGNATURE}`")),
    );
}
