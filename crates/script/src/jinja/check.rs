//! The walk over a template: variables, filters, tests, and references to other templates.
//!
//! A `{% for %}` binds its variables inside its body only, a `{% set %}` from there to the end of the
//! body that it is in (an `{% if %}` is not a body of its own), a `{% macro %}` its parameters inside and
//! its name outside, a `{% with %}` inside itself.

use minijinja::machinery::{Span as Place, ast};
use stave_diag::codes::script::{
    INVALID_TEMPLATE, TEMPLATE_INCLUDE, UNKNOWN_FILTER, UNKNOWN_TEMPLATE_VARIABLE, UNKNOWN_TEST,
};
use stave_diag::{Code, Diagnostic, Embedded, Span};

use super::known::{FILTERS, FUNCTIONS, OPERATOR_TESTS, TESTS};
use super::scope::Scopes;
use super::{TemplateCheck, reads, syntax};
use crate::UsedPath;
use crate::suggest::nearest;

pub(super) fn check(text: &Embedded, scope: &[&str], is_open: bool) -> TemplateCheck {
    let tree = match syntax::tree(text.text()) {
        Ok(tree) => tree,
        Err(fault) => {
            let message = format!("invalid template: {}", fault.message);
            let diagnostic = Diagnostic::new(INVALID_TEMPLATE, text.span(fault.range), message);
            return TemplateCheck { diagnostics: vec![diagnostic], ..TemplateCheck::default() };
        }
    };
    let mut walker = Walker {
        text,
        scope,
        is_open,
        scopes: Scopes::new(),
        loops: 0,
        macros: 0,
        check: TemplateCheck::default(),
    };
    walker.stmt(&tree);
    let reads = reads::of_tree(&tree, scope).uses.into_iter();
    walker.check.reads = reads.map(|(read, place)| (read, text.span(place))).collect();
    stave_diag::sort(&mut walker.check.diagnostics);
    walker.check
}

struct Walker<'w, 't> {
    text: &'w Embedded,
    scope: &'w [&'w str],
    /// Whether other names than those of the scope may be bound from outside.
    is_open: bool,
    scopes: Scopes<'t>,
    loops: usize,
    macros: usize,
    check: TemplateCheck,
}

impl<'t> Walker<'_, 't> {
    fn span(&self, place: Place) -> Span {
        self.text.span(place.start_offset as usize..place.end_offset as usize)
    }

    fn report(&mut self, code: Code, span: Span, message: String, help: String) {
        self.check.diagnostics.push(Diagnostic::new(code, span, message).help(help));
    }

    fn body(&mut self, body: &[ast::Stmt<'t>]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn scoped(&mut self, body: &[ast::Stmt<'t>]) {
        self.scopes.enter();
        self.body(body);
        self.scopes.leave();
    }

    fn stmt(&mut self, stmt: &ast::Stmt<'t>) {
        match stmt {
            ast::Stmt::Template(template) => self.body(&template.children),
            ast::Stmt::EmitExpr(emit) => self.expr(&emit.expr),
            ast::Stmt::EmitRaw(_) | ast::Stmt::Continue(_) | ast::Stmt::Break(_) => {}
            ast::Stmt::ForLoop(each) => self.for_loop(each),
            ast::Stmt::IfCond(choice) => {
                self.expr(&choice.expr);
                self.body(&choice.true_body);
                self.body(&choice.false_body);
            }
            ast::Stmt::WithBlock(with) => {
                self.scopes.enter();
                for (target, value) in &with.assignments {
                    self.expr(value);
                    self.target(target);
                }
                self.body(&with.body);
                self.scopes.leave();
            }
            ast::Stmt::Set(set) => {
                self.expr(&set.expr);
                self.target(&set.target);
            }
            ast::Stmt::SetBlock(set) => {
                if let Some(filter) = &set.filter {
                    self.expr(filter);
                }
                self.scoped(&set.body);
                self.target(&set.target);
            }
            ast::Stmt::AutoEscape(escape) => {
                self.expr(&escape.enabled);
                self.scoped(&escape.body);
            }
            ast::Stmt::FilterBlock(filter) => {
                self.expr(&filter.filter);
                self.scoped(&filter.body);
            }
            ast::Stmt::Macro(definition) => {
                self.scopes.bind(definition.name);
                self.macro_body(definition);
            }
            ast::Stmt::CallBlock(block) => {
                self.call(&block.call);
                self.macro_body(&block.macro_decl);
            }
            ast::Stmt::Do(statement) => self.call(&statement.call),
            ast::Stmt::Include(include) => self.refuse(include.span(), "include"),
            ast::Stmt::Import(import) => {
                self.refuse(import.span(), "import");
                self.target(&import.name);
            }
            ast::Stmt::FromImport(import) => {
                self.refuse(import.span(), "from");
                for (name, alias) in &import.names {
                    self.target(alias.as_ref().unwrap_or(name));
                }
            }
            ast::Stmt::Extends(extends) => self.refuse(extends.span(), "extends"),
            ast::Stmt::Block(block) => {
                self.refuse(block.span(), "block");
                self.scoped(&block.body);
            }
        }
    }

    fn refuse(&mut self, place: Place, word: &str) {
        // The tag's own line is enough; a block's span reaches to its end.
        let start = place.start_offset as usize;
        let tag = self.text.text().get(start..).unwrap_or_default();
        let end = start + tag.find("%}").unwrap_or_else(|| tag.lines().next().unwrap_or_default().len());
        let span =
            self.text.span(start..end.min(place.end_offset.max(place.start_offset) as usize).max(start));
        self.report(
            TEMPLATE_INCLUDE,
            span,
            format!("`{word}` needs another template, and there is none"),
            "write the text here, or pass it in as an input".to_owned(),
        );
    }

    fn for_loop(&mut self, each: &ast::ForLoop<'t>) {
        self.expr(&each.iter);
        self.scopes.enter();
        self.target(&each.target);
        if let Some(filter) = &each.filter_expr {
            self.expr(filter);
        }
        self.loops += 1;
        self.body(&each.body);
        self.loops -= 1;
        self.scopes.leave();
        self.scoped(&each.else_body);
    }

    fn macro_body(&mut self, definition: &ast::Macro<'t>) {
        for default in &definition.defaults {
            self.expr(default);
        }
        self.scopes.enter();
        for argument in &definition.args {
            self.target(argument);
        }
        self.macros += 1;
        self.body(&definition.body);
        self.macros -= 1;
        self.scopes.leave();
    }

    /// What is assigned to: names are bound, anything else is read.
    fn target(&mut self, target: &ast::Expr<'t>) {
        match target {
            ast::Expr::Var(var) => self.scopes.bind(var.id),
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.target(item)),
            ast::Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.target(item)),
            other => self.expr(other),
        }
    }

    fn expr(&mut self, expr: &ast::Expr<'t>) {
        match expr {
            ast::Expr::Var(_) | ast::Expr::GetAttr(_) | ast::Expr::GetItem(_) => self.path(expr, true),
            ast::Expr::Const(_) => {}
            ast::Expr::Slice(slice) => {
                self.expr(&slice.expr);
                for part in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                    self.expr(part);
                }
            }
            ast::Expr::UnaryOp(unary) => self.expr(&unary.expr),
            ast::Expr::BinOp(binary) => {
                self.expr(&binary.left);
                self.expr(&binary.right);
            }
            ast::Expr::Compare(compare) => {
                self.expr(&compare.expr);
                compare.ops.iter().for_each(|operand| self.expr(&operand.expr));
            }
            ast::Expr::IfExpr(choice) => {
                self.expr(&choice.test_expr);
                self.expr(&choice.true_expr);
                if let Some(otherwise) = &choice.false_expr {
                    self.expr(otherwise);
                }
            }
            ast::Expr::Filter(filter) => {
                if let Some(value) = &filter.expr {
                    self.expr(value);
                }
                self.filter(filter.name, filter.span());
                self.arguments(&filter.args);
            }
            ast::Expr::Test(test) => {
                self.expr(&test.expr);
                self.test(test.name, test.span());
                self.arguments(&test.args);
            }
            ast::Expr::Call(call) => self.call(call),
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.expr(item)),
            ast::Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.expr(item)),
            ast::Expr::Map(map) => {
                map.keys.iter().chain(&map.values).for_each(|part| self.expr(part));
            }
        }
    }

    fn call(&mut self, call: &ast::Spanned<ast::Call<'t>>) {
        // The last step of `x.items()` is a method, not a field of `x`.
        match &call.expr {
            ast::Expr::GetAttr(method) => self.path(&method.expr, true),
            other => self.path(other, false),
        }
        self.arguments(&call.args);
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'t>]) {
        for argument in arguments {
            match argument {
                ast::CallArg::Pos(value)
                | ast::CallArg::Kwarg(_, value)
                | ast::CallArg::PosSplat(value)
                | ast::CallArg::KwargSplat(value) => self.expr(value),
            }
        }
    }

    /// Follows `a.b['c']` down to its root; `record` when it reads data rather than calls it.
    fn path(&mut self, expr: &ast::Expr<'t>, record: bool) {
        let mut parts = Vec::new();
        let mut literal_end = expr.span();
        let mut here = expr;
        loop {
            match here {
                ast::Expr::GetAttr(step) => {
                    parts.push(Some(step.name.to_owned()));
                    here = &step.expr;
                }
                ast::Expr::GetItem(step) => {
                    // Only a literal is read. The engine would also fold constants here, and one fold can
                    // ask for any amount of memory: `x['a' * 100000000]`.
                    let key = match &step.subscript_expr {
                        ast::Expr::Const(key) => key.value.as_str().map(str::to_owned),
                        _ => None,
                    };
                    if key.is_none() {
                        // What lies beyond a computed step is not part of the literal path.
                        parts.clear();
                        literal_end = step.expr.span();
                        self.expr(&step.subscript_expr);
                    } else {
                        parts.push(key);
                    }
                    here = &step.expr;
                }
                _ => break,
            }
        }
        let ast::Expr::Var(root) = here else {
            self.expr(here);
            return;
        };
        let name = root.id;
        if self.scopes.binds(name)
            || (name == "loop" && self.loops > 0)
            || (name == "caller" && self.macros > 0)
        {
            return;
        }
        let root_span = self.span(root.span());
        if self.scope.contains(&name) {
            if record {
                let mut path = vec![name.to_owned()];
                path.extend(parts.into_iter().rev().flatten());
                let span = self.span(root.span()).to(self.span(literal_end));
                self.check.paths.push(UsedPath { path, span, root: root_span });
            }
            return;
        }
        if FUNCTIONS.contains(&name) || self.is_open {
            return;
        }
        let candidates = self.scope.iter().copied().chain(self.scopes.names());
        let help = match nearest(name, candidates) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let bound: Vec<String> = self.scope.iter().map(|name| format!("`{name}`")).collect();
                format!("bound here are {}", bound.join(", "))
            }
        };
        self.report(UNKNOWN_TEMPLATE_VARIABLE, root_span, format!("`{name}` is not bound here"), help);
    }

    fn filter(&mut self, name: &str, place: Place) {
        if FILTERS.contains(&name) {
            return;
        }
        let help = nearest(name, FILTERS.iter().copied()).map_or_else(
            || format!("filters are {}", FILTERS.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        let span = self.word_span(name, place);
        self.report(UNKNOWN_FILTER, span, format!("there is no filter `{name}`"), help);
    }

    fn test(&mut self, name: &str, place: Place) {
        if TESTS.contains(&name) || OPERATOR_TESTS.contains(&name) {
            return;
        }
        let help = nearest(name, TESTS.iter().copied()).map_or_else(
            || format!("tests are {}", TESTS.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        let span = self.word_span(name, place);
        self.report(UNKNOWN_TEST, span, format!("there is no test `{name}`"), help);
    }

    /// The place of a name that is a slice of the template's own text, else of the node around it.
    fn word_span(&self, name: &str, place: Place) -> Span {
        let text = self.text.text();
        let start = (name.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        if text.get(start..).is_some_and(|rest| rest.starts_with(name)) {
            return self.text.span(start..start + name.len());
        }
        self.span(place)
    }
}
