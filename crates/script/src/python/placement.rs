//! Statements that parse but are not allowed in their place: Python itself refuses them when it compiles.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprContext, Parameters, Stmt};
use ruff_text_size::{Ranged, TextRange};
use stave_diag::codes::script::INVALID_PYTHON;
use stave_diag::{Diagnostic, Embedded};

use super::parse::bytes;
use super::undefined_name::{bindings, parameter_names};

pub(super) fn check(code: &Embedded, body: &[Stmt], diagnostics: &mut Vec<Diagnostic>) {
    Placement { code, functions: Vec::new(), loops: 0, stored: HashSet::new(), diagnostics }.visit_body(body);
}

struct Placement<'a, 'd> {
    code: &'d Embedded,
    /// The names each function around the current statement binds.
    functions: Vec<HashSet<&'a str>>,
    /// Loops around the current statement, within its function.
    loops: usize,
    /// Names the current function has used so far.
    stored: HashSet<&'a str>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'a> Placement<'a, '_> {
    fn report(&mut self, range: TextRange, message: impl Into<String>) {
        let span = self.code.span(bytes(range));
        self.diagnostics.push(Diagnostic::new(INVALID_PYTHON, span, message));
    }

    fn parameters(&mut self, parameters: &'a Parameters) {
        let mut seen = HashSet::new();
        for parameter in parameters {
            if !seen.insert(parameter.name().as_str()) {
                let message = format!("the parameter `{}` is there twice", parameter.name());
                self.report(parameter.name().range, message);
            }
        }
    }

    fn within(&mut self, names: Option<HashSet<&'a str>>, body: &'a [Stmt]) {
        let loops = std::mem::take(&mut self.loops);
        let stored = std::mem::take(&mut self.stored);
        let is_function = names.is_some();
        self.functions.extend(names);
        self.visit_body(body);
        if is_function {
            self.functions.pop();
        }
        self.loops = loops;
        self.stored = stored;
    }

    fn looped(&mut self, body: &'a [Stmt], otherwise: &'a [Stmt]) {
        self.loops += 1;
        self.visit_body(body);
        self.loops -= 1;
        self.visit_body(otherwise);
    }
}

impl<'a> Visitor<'a> for Placement<'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.parameters(&function.parameters);
                let mut names = bindings(&function.body).bound;
                names.extend(parameter_names(&function.parameters));
                self.stored.insert(function.name.as_str());
                self.within(Some(names), &function.body);
            }
            Stmt::ClassDef(class) => self.within(None, &class.body),
            Stmt::For(iteration) => {
                self.visit_expr(&iteration.target);
                self.visit_expr(&iteration.iter);
                self.looped(&iteration.body, &iteration.orelse);
            }
            Stmt::While(repetition) => {
                self.visit_expr(&repetition.test);
                self.looped(&repetition.body, &repetition.orelse);
            }
            Stmt::Break(statement) if self.loops == 0 => {
                self.report(statement.range, "`break` outside a loop");
            }
            Stmt::Continue(statement) if self.loops == 0 => {
                self.report(statement.range, "`continue` outside a loop");
            }
            Stmt::Nonlocal(nonlocal) => {
                let outer = self.functions.len().saturating_sub(1);
                for name in &nonlocal.names {
                    let bound = self.functions.iter().take(outer).any(|names| names.contains(name.as_str()));
                    if !bound {
                        self.report(name.range, format!("no function around this one binds `{name}`"));
                    }
                }
            }
            Stmt::Global(global) => {
                for name in &global.names {
                    if !self.functions.is_empty() && self.stored.contains(name.as_str()) {
                        self.report(name.range, format!("`{name}` is used before it is declared global"));
                    }
                }
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    if matches!(target, Expr::Starred(_)) {
                        self.report(target.range(), "a starred target needs others beside it");
                    }
                }
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx != ExprContext::Invalid => {
                self.stored.insert(name.id.as_str());
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.parameters(parameters);
                }
            }
            _ => walk_expr(self, expr),
        }
    }
}
