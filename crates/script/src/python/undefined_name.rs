//! Names that nothing defines, by Python's scoping rules.
//!
//! A function's names are those it binds anywhere in its body; class bodies are not seen from the
//! methods inside them; a comprehension has its own names but evaluates its first iterable outside.
//! Whether a name is bound before it is read is left to the run. Annotations are not evaluated by the
//! interpreter and are not looked at.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{
    Comprehension, Expr, ExprContext, ExprName, Parameters, Stmt, StmtClassDef, StmtFunctionDef,
};
use stave_diag::codes::script::UNDEFINED_NAME;
use stave_diag::{Diagnostic, Embedded};

use super::builtins::{ABSENT_BUILTINS, BUILTINS, is_builtin};
use super::parse::bytes;
use crate::suggest::nearest;

/// Reports every name that is read and never bound.
pub(super) fn check(code: &Embedded, body: &[Stmt], diagnostics: &mut Vec<Diagnostic>) {
    let module = Scope { kind: Kind::Module, names: bindings(body) };
    let mut reader = Reader { code, scopes: vec![module], diagnostics };
    reader.visit_body(body);
}

/// The names a body binds, without those of the functions, classes and comprehensions inside it.
pub(super) fn bindings(body: &[Stmt]) -> Names<'_> {
    let mut collector = Collector::default();
    collector.visit_body(body);
    collector.names
}

#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    pub(super) bound: HashSet<&'a str>,
    /// Declared `global` here, so that the module's name is meant.
    global: HashSet<&'a str>,
}

#[derive(Default)]
struct Collector<'a> {
    names: Names<'a>,
    /// Inside a comprehension only `:=` binds in the scope around it.
    comprehensions: usize,
}

impl<'a> Visitor<'a> for Collector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.names.bound.insert(function.name.as_str());
            }
            Stmt::ClassDef(class) => {
                self.names.bound.insert(class.name.as_str());
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    self.names.bound.insert(name.split('.').next().unwrap_or(name));
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.names.bound.insert(alias.asname.as_ref().unwrap_or(&alias.name).as_str());
                }
            }
            Stmt::Global(global) => {
                self.names.global.extend(global.names.iter().map(ruff_python_ast::Identifier::as_str));
            }
            Stmt::Try(attempt) => {
                for handler in &attempt.handlers {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                    self.names.bound.extend(handler.name.as_ref().map(ruff_python_ast::Identifier::as_str));
                }
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(ExprName { id, ctx: ExprContext::Store, .. }) if self.comprehensions == 0 => {
                self.names.bound.insert(id.as_str());
            }
            Expr::Named(named) => {
                if let Expr::Name(name) = &*named.target {
                    self.names.bound.insert(name.id.as_str());
                }
                self.visit_expr(&named.value);
            }
            Expr::Lambda(_) => {}
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                self.comprehensions += 1;
                walk_expr(self, expr);
                self.comprehensions -= 1;
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_pattern(&mut self, pattern: &'a ruff_python_ast::Pattern) {
        match pattern {
            ruff_python_ast::Pattern::MatchAs(capture) => {
                self.names.bound.extend(capture.name.as_ref().map(ruff_python_ast::Identifier::as_str));
            }
            ruff_python_ast::Pattern::MatchStar(star) => {
                self.names.bound.extend(star.name.as_ref().map(ruff_python_ast::Identifier::as_str));
            }
            ruff_python_ast::Pattern::MatchMapping(mapping) => {
                self.names.bound.extend(mapping.rest.as_ref().map(ruff_python_ast::Identifier::as_str));
            }
            _ => {}
        }
        ruff_python_ast::visitor::walk_pattern(self, pattern);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Module,
    Function,
    Class,
}

#[derive(Debug)]
struct Scope<'a> {
    kind: Kind,
    names: Names<'a>,
}

struct Reader<'a, 'd> {
    code: &'d Embedded,
    scopes: Vec<Scope<'a>>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'a> Reader<'a, '_> {
    fn is_defined(&self, name: &str) -> bool {
        let innermost = self.scopes.len() - 1;
        for (index, scope) in self.scopes.iter().enumerate().rev() {
            if scope.names.global.contains(name) {
                let module = self.scopes.first();
                return module.is_some_and(|module| module.names.bound.contains(name)) || is_builtin(name);
            }
            let seen = scope.kind != Kind::Class || index == innermost;
            if seen && scope.names.bound.contains(name) {
                return true;
            }
        }
        is_builtin(name)
    }

    fn report(&mut self, name: &ExprName) {
        let id = name.id.as_str();
        let span = self.code.span(bytes(name.range));
        let diagnostic = if ABSENT_BUILTINS.contains(&id) {
            Diagnostic::new(UNDEFINED_NAME, span, format!("`{id}` is not available in the sandbox"))
                .help("a transform has its inputs, its context and its state, and no way around them")
        } else {
            // A short name is near to too many builtins to be one of them misspelt.
            let builtins = if id.len() >= 5 { BUILTINS } else { &[] };
            let visible = self.scopes.iter().flat_map(|scope| scope.names.bound.iter().copied());
            let diagnostic = Diagnostic::new(UNDEFINED_NAME, span, format!("`{id}` is not defined"));
            match nearest(id, visible.chain(builtins.iter().copied())) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic
                    .help(format!("define `{id}` beside `transform`, or read it as `inputs['{id}']`")),
            }
        };
        self.diagnostics.push(diagnostic);
    }

    fn within(&mut self, kind: Kind, names: Names<'a>, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(Scope { kind, names });
        walk(self);
        self.scopes.pop();
    }

    fn defaults(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                self.visit_expr(default);
            }
        }
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_expr(&decorator.expression);
        }
        self.defaults(&function.parameters);
        let mut names = bindings(&function.body);
        names.bound.extend(parameter_names(&function.parameters));
        self.within(Kind::Function, names, |reader| reader.visit_body(&function.body));
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        for decorator in &class.decorator_list {
            self.visit_expr(&decorator.expression);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.within(Kind::Class, bindings(&class.body), |reader| reader.visit_body(&class.body));
    }

    fn comprehension(&mut self, generators: &'a [Comprehension], elements: &[&'a Expr]) {
        let mut names = Names::default();
        for (index, generator) in generators.iter().enumerate() {
            if index == 0 {
                self.visit_expr(&generator.iter);
            }
            let mut collector = Collector::default();
            collector.visit_expr(&generator.target);
            names.bound.extend(collector.names.bound);
        }
        self.within(Kind::Function, names, |reader| {
            for (index, generator) in generators.iter().enumerate() {
                if index > 0 {
                    reader.visit_expr(&generator.iter);
                }
                reader.visit_expr(&generator.target);
                for condition in &generator.ifs {
                    reader.visit_expr(condition);
                }
            }
            for element in elements {
                reader.visit_expr(element);
            }
        });
    }
}

pub(super) fn parameter_names(parameters: &Parameters) -> impl Iterator<Item = &str> {
    parameters.iter().map(|parameter| parameter.name().as_str())
}

impl<'a> Visitor<'a> for Reader<'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Load || name.ctx == ExprContext::Del => {
                if !self.is_defined(name.id.as_str()) {
                    self.report(name);
                }
            }
            Expr::Lambda(lambda) => {
                let mut names = Names::default();
                if let Some(parameters) = &lambda.parameters {
                    self.defaults(parameters);
                    names.bound.extend(parameter_names(parameters));
                }
                self.within(Kind::Function, names, |reader| reader.visit_expr(&lambda.body));
            }
            Expr::ListComp(list) => self.comprehension(&list.generators, &[&list.elt]),
            Expr::SetComp(set) => self.comprehension(&set.generators, &[&set.elt]),
            Expr::Generator(generator) => self.comprehension(&generator.generators, &[&generator.elt]),
            Expr::DictComp(dict) => {
                let elements: Vec<&Expr> = dict.key.as_deref().into_iter().chain([&*dict.value]).collect();
                self.comprehension(&dict.generators, &elements);
            }
            _ => walk_expr(self, expr),
        }
    }
}
