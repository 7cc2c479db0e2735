//! Imports of modules that the interpreter does not have.

use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextRange;
use stave_diag::codes::script::UNAVAILABLE_IMPORT;
use stave_diag::{Diagnostic, Embedded};

use super::builtins::MODULES;
use super::parse::bytes;
use crate::suggest::nearest;

pub(super) fn check(code: &Embedded, body: &[Stmt], diagnostics: &mut Vec<Diagnostic>) {
    Imports { code, diagnostics }.visit_body(body);
}

struct Imports<'d> {
    code: &'d Embedded,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Imports<'_> {
    fn module(&mut self, name: &str, range: TextRange) {
        if MODULES.contains(&name) {
            return;
        }
        let help = match nearest(name, MODULES.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("available are {}", MODULES.join(", ")),
        };
        self.diagnostics.push(
            Diagnostic::new(
                UNAVAILABLE_IMPORT,
                self.code.span(bytes(range)),
                format!("the module `{name}` is not available in the sandbox"),
            )
            .help(help),
        );
    }
}

impl<'a> Visitor<'a> for Imports<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.module(alias.name.as_str(), alias.name.range);
                }
            }
            Stmt::ImportFrom(import) => match &import.module {
                Some(module) if import.level == 0 => {
                    if module.as_str() != "__future__" {
                        self.module(module.as_str(), module.range);
                    }
                }
                _ => self.diagnostics.push(
                    Diagnostic::new(
                        UNAVAILABLE_IMPORT,
                        self.code.span(bytes(import.range)),
                        "a transform is no package, so it has nothing to import from relatively",
                    )
                    .help("define what is needed beside `transform`"),
                ),
            },
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}
