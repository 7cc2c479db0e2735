//! Imports of what the interpreter does not have, and uses of what a module there lacks.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_parameter, walk_stmt};
use ruff_python_ast::{Expr, ExprContext, Parameter, Stmt};
use ruff_text_size::TextRange;
use stave_diag::codes::script::UNAVAILABLE_IMPORT;
use stave_diag::{Diagnostic, Embedded};

use super::modules::{MODULES, members};
use super::parse::bytes;
use crate::suggest::nearest;

pub(super) fn check(code: &Embedded, body: &[Stmt], diagnostics: &mut Vec<Diagnostic>) {
    let mut bound = Bound::default();
    bound.visit_body(body);
    let Bound { mut modules, others } = bound;
    modules.retain(|name, _| !others.contains(name));
    Imports { code, modules, diagnostics }.visit_body(body);
}

/// Names that stand for a module, and names that stand for anything else anywhere in the code.
#[derive(Default)]
struct Bound<'a> {
    modules: HashMap<&'a str, &'a str>,
    others: HashSet<&'a str>,
}

impl<'a> Visitor<'a> for Bound<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    self.modules.insert(name, alias.name.as_str());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.others.insert(alias.asname.as_ref().unwrap_or(&alias.name).as_str());
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.others.insert(parameter.name.as_str());
        walk_parameter(self, parameter);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx == ExprContext::Store
        {
            self.others.insert(name.id.as_str());
        }
        walk_expr(self, expr);
    }
}

struct Imports<'a, 'd> {
    code: &'d Embedded,
    modules: HashMap<&'a str, &'a str>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Imports<'_, '_> {
    fn report(&mut self, range: TextRange, message: String, help: String) {
        let span = self.code.span(bytes(range));
        self.diagnostics.push(Diagnostic::new(UNAVAILABLE_IMPORT, span, message).help(help));
    }

    /// Reports a module that is not there. True when it is.
    fn module(&mut self, name: &str, range: TextRange) -> bool {
        if members(name).is_some() {
            return true;
        }
        let known = MODULES.iter().map(|(name, _)| *name);
        let help = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("available are {}", known.collect::<Vec<_>>().join(", ")),
        };
        self.report(range, format!("the module `{name}` is not available in the sandbox"), help);
        false
    }

    fn member(&mut self, module: &str, name: &str, range: TextRange) {
        let Some(members) = members(module) else { return };
        if name == "*" || members.contains(&name) {
            return;
        }
        let help = match nearest(name, members.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("`{module}` has {}", members.join(", ")),
        };
        self.report(range, format!("`{module}.{name}` is not available in the sandbox"), help);
    }
}

impl<'a> Visitor<'a> for Imports<'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.module(alias.name.as_str(), alias.name.range);
                }
            }
            Stmt::ImportFrom(import) => match &import.module {
                Some(module) if import.level == 0 && module.as_str() == "__future__" => {}
                Some(module) if import.level == 0 => {
                    if self.module(module.as_str(), module.range) {
                        for alias in &import.names {
                            self.member(module.as_str(), alias.name.as_str(), alias.name.range);
                        }
                    }
                }
                _ => self.report(
                    import.range,
                    "a transform is not a package, so it has nothing to import from relatively".to_owned(),
                    "define what is needed beside `transform`".to_owned(),
                ),
            },
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(attribute) = expr
            && let Expr::Name(name) = &*attribute.value
            && let Some(module) = self.modules.get(name.id.as_str()).copied()
        {
            self.member(module, attribute.attr.as_str(), attribute.attr.range);
        }
        walk_expr(self, expr);
    }
}
