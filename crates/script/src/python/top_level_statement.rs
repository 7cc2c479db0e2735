//! What is allowed outside a function: imports, definitions and constants, none of which does any work.

use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};
use stave_diag::codes::script::TOP_LEVEL_STATEMENT;
use stave_diag::{Diagnostic, Embedded};

use super::parse::bytes;

/// Calls that only build a value out of constants.
const CONSTRUCTORS: &[&str] =
    &["dict", "frozenset", "list", "set", "tuple", "re.compile", "timedelta", "datetime.timedelta"];
/// Decorators that only describe their class.
const DECORATORS: &[&str] = &["dataclass", "dataclasses.dataclass"];

pub(super) fn check(code: &Embedded, body: &[Stmt], diagnostics: &mut Vec<Diagnostic>) {
    let mut report = |range: TextRange, message: &str| {
        diagnostics.push(
            Diagnostic::new(TOP_LEVEL_STATEMENT, code.span(bytes(range)), message)
                .help("move it into `transform`, or into a function that `transform` calls"),
        );
    };
    for stmt in body {
        match stmt {
            Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Pass(_) => {}
            Stmt::FunctionDef(function) => check_function(function, &mut report),
            Stmt::ClassDef(class) => check_class(class, &mut report),
            Stmt::Expr(statement) if is_inert(&statement.value) => {}
            Stmt::Assign(assign) => check_constant(&assign.targets, &assign.value, &mut report),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    check_constant(std::slice::from_ref(&assign.target), value, &mut report);
                }
            }
            // A wrong binding of `transform` itself has its own code.
            other => report(first_line(code, other.range()), "a statement outside a function"),
        }
    }
}

/// A compound statement is marked at its first line, where the reader's eye goes.
fn first_line(code: &Embedded, range: TextRange) -> TextRange {
    let text = code.text().get(bytes(range)).unwrap_or_default();
    let length = text.lines().next().unwrap_or_default().trim_end().len();
    let end = ruff_text_size::TextSize::try_from(length).map_or(range.end(), |length| range.start() + length);
    TextRange::new(range.start(), end.min(range.end()))
}

fn check_function(function: &StmtFunctionDef, report: &mut impl FnMut(TextRange, &str)) {
    for decorator in &function.decorator_list {
        report(decorator.range, "a decorator runs when the code is loaded");
    }
    for parameter in function.parameters.iter_non_variadic_params() {
        if let Some(default) = &parameter.default
            && !is_constant(default)
        {
            report(default.range(), "a computed default argument runs when the code is loaded");
        }
    }
}

fn check_class(class: &StmtClassDef, report: &mut impl FnMut(TextRange, &str)) {
    for decorator in &class.decorator_list {
        let described = match &decorator.expression {
            Expr::Call(call) => call
                .arguments
                .keywords
                .iter()
                .all(|keyword| is_constant(&keyword.value))
                .then_some(&*call.func),
            other => Some(other),
        };
        let allowed = described.and_then(dotted).is_some_and(|name| DECORATORS.contains(&name.as_str()));
        if !allowed {
            report(decorator.range, "a decorator runs when the code is loaded");
        }
    }
    for stmt in &class.body {
        match stmt {
            Stmt::FunctionDef(method) => check_function(method, report),
            Stmt::Assign(assign) => check_constant(&assign.targets, &assign.value, report),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    check_constant(std::slice::from_ref(&assign.target), value, report);
                }
            }
            _ => {}
        }
    }
}

fn check_constant<T: std::borrow::Borrow<Expr>>(
    targets: &[T],
    value: &Expr,
    report: &mut impl FnMut(TextRange, &str),
) {
    let named = targets.iter().all(|target| is_plain_target(target.borrow()));
    let transform = targets
        .iter()
        .any(|target| matches!(target.borrow(), Expr::Name(name) if name.id.as_str() == "transform"));
    if transform {
        return;
    }
    if !named {
        if let Some(target) = targets.first() {
            report(target.borrow().range(), "an assignment outside a function may only name a constant");
        }
    } else if !is_constant(value) {
        report(value.range(), "a value that is computed when the code is loaded");
    }
}

fn is_plain_target(target: &Expr) -> bool {
    match target {
        Expr::Name(_) => true,
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_plain_target),
        _ => false,
    }
}

/// A documentation string, or `...`.
fn is_inert(value: &Expr) -> bool {
    matches!(value, Expr::StringLiteral(_) | Expr::EllipsisLiteral(_))
}

/// Whether evaluating the expression does nothing but put constants together.
fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::StringLiteral(_)
        | Expr::BytesLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::EllipsisLiteral(_)
        | Expr::Name(_) => true,
        Expr::Attribute(attribute) => is_constant(&attribute.value),
        Expr::Subscript(subscript) => is_constant(&subscript.value) && is_constant(&subscript.slice),
        Expr::Slice(slice) => {
            [&slice.lower, &slice.upper, &slice.step].into_iter().flatten().all(|part| is_constant(part))
        }
        Expr::Starred(starred) => is_constant(&starred.value),
        Expr::UnaryOp(unary) => is_constant(&unary.operand),
        Expr::BinOp(binary) => is_constant(&binary.left) && is_constant(&binary.right),
        Expr::BoolOp(operation) => operation.values.iter().all(is_constant),
        Expr::Compare(compare) => is_constant(&compare.left) && compare.comparators.iter().all(is_constant),
        Expr::If(choice) => {
            is_constant(&choice.test) && is_constant(&choice.body) && is_constant(&choice.orelse)
        }
        Expr::List(list) => list.elts.iter().all(is_constant),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_constant),
        Expr::Set(set) => set.elts.iter().all(is_constant),
        Expr::Dict(dict) => dict
            .items
            .iter()
            .all(|item| item.key.as_ref().is_none_or(is_constant) && is_constant(&item.value)),
        Expr::Call(call) => {
            dotted(&call.func).is_some_and(|name| CONSTRUCTORS.contains(&name.as_str()))
                && call.arguments.args.iter().all(is_constant)
                && call.arguments.keywords.iter().all(|keyword| is_constant(&keyword.value))
        }
        _ => false,
    }
}

/// `a.b.c` as text.
fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        _ => None,
    }
}
