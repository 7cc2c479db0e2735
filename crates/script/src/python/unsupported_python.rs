//! Parts of Python that the interpreter does not run.

use ruff_python_ast::visitor::{Visitor, walk_comprehension, walk_expr, walk_stmt};
use ruff_python_ast::{Comprehension, Expr, ExprContext, Number, Operator, Stmt, StmtClassDef};
use ruff_text_size::{Ranged, TextRange};
use stave_diag::codes::script::UNSUPPORTED_PYTHON;
use stave_diag::{Diagnostic, Embedded};

use super::parse::bytes;

pub(super) fn check(code: &Embedded, body: &[Stmt], diagnostics: &mut Vec<Diagnostic>) {
    Unsupported { code, diagnostics }.visit_body(body);
}

struct Unsupported<'d> {
    code: &'d Embedded,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Unsupported<'_> {
    fn report(&mut self, range: TextRange, what: &str, help: &str) {
        // A whole block is marked by its first line.
        let mut range = bytes(range);
        let text = self.code.text().get(range.clone()).unwrap_or_default();
        range.end = range.start + text.lines().next().unwrap_or_default().trim_end().len();
        self.diagnostics.push(
            Diagnostic::new(
                UNSUPPORTED_PYTHON,
                self.code.span(range),
                format!("{what} cannot be run in the sandbox"),
            )
            .help(help),
        );
    }

    /// Several targets at once, or the target of a loop, may only be names.
    fn unpacked(&mut self, target: &Expr) {
        match target {
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.unpacked(element)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.unpacked(element)),
            Expr::Starred(starred) => self.unpacked(&starred.value),
            Expr::Subscript(_) | Expr::Attribute(_) => {
                self.report(target.range(), "unpacking into anything but names", "unpack into names first");
            }
            _ => {}
        }
    }

    fn class(&mut self, class: &StmtClassDef) {
        if let Some(arguments) = &class.arguments
            && (!arguments.args.is_empty() || !arguments.keywords.is_empty())
        {
            self.report(arguments.range, "a base class", "write the class without one, or use functions");
        }
        for stmt in &class.body {
            match stmt {
                Stmt::FunctionDef(method) => {
                    if let Some(decorator) = method.decorator_list.first() {
                        self.report(
                            decorator.range,
                            "a decorated method",
                            "write a plain method or a function",
                        );
                    }
                }
                Stmt::Assign(assign) if matches!(assign.targets.as_slice(), [Expr::Name(_)]) => {}
                Stmt::AnnAssign(_) | Stmt::Pass(_) => {}
                Stmt::Expr(statement)
                    if matches!(*statement.value, Expr::StringLiteral(_) | Expr::EllipsisLiteral(_)) => {}
                other => self.report(
                    other.range(),
                    "this statement in a class body",
                    "a class holds methods and simple variables",
                ),
            }
        }
    }
}

impl<'a> Visitor<'a> for Unsupported<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Delete(delete) => self.report(delete.range, "`del`", "use `.pop(key)`, or a new value"),
            Stmt::TypeAlias(alias) => self.report(alias.range, "a `type` alias", "leave it out"),
            Stmt::Match(matching) => self.report(matching.range, "`match`", "use `if` and `elif`"),
            Stmt::For(iteration) if iteration.is_async => {
                self.report(iteration.range, "`async for`", "await the values first, then loop over them");
            }
            Stmt::With(with) if with.is_async => {
                self.report(with.range, "`async with`", "call what is needed and await it");
            }
            Stmt::Try(attempt) if attempt.is_star => {
                self.report(attempt.range, "`except*`", "use `except`");
            }
            Stmt::ImportFrom(import) if import.names.iter().any(|alias| alias.name.as_str() == "*") => {
                self.report(import.range, "a star import", "name what you import");
            }
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Assign(assign) => {
                let several = assign
                    .targets
                    .iter()
                    .filter(|target| !matches!(target, Expr::Subscript(_) | Expr::Attribute(_)));
                several.for_each(|target| self.unpacked(target));
            }
            Stmt::For(iteration) => self.unpacked(&iteration.target),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        if comprehension.is_async {
            self.report(comprehension.range, "an async comprehension", "await the values first");
        }
        self.unpacked(&comprehension.target);
        walk_comprehension(self, comprehension);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.report(expr.range(), "`yield`", "build a list and return it");
            }
            Expr::BinOp(operation) if operation.op == Operator::MatMult => {
                self.report(expr.range(), "the operator `@`", "write the sums out");
            }
            Expr::Subscript(subscript)
                if subscript.ctx == ExprContext::Store && matches!(*subscript.slice, Expr::Slice(_)) =>
            {
                self.report(expr.range(), "assigning to a slice", "build a new list");
            }
            Expr::TString(_) => self.report(expr.range(), "a template string", "use an f-string"),
            Expr::NumberLiteral(number) if matches!(number.value, Number::Complex { .. }) => {
                self.report(expr.range(), "a complex number", "use two floats");
            }
            Expr::BinOp(operation)
                if operation.op == Operator::Mod
                    && matches!(*operation.left, Expr::StringLiteral(_) | Expr::FString(_)) =>
            {
                self.report(expr.range(), "`%` formatting", "use an f-string or `.format()`");
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
