//! Which values an expression reads.
//!
//! Names are counted wherever they occur, also where a comprehension or a `lambda` binds a name of its own.
//! Invariant: see [`crate::reads`].

use std::collections::BTreeSet;

use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{Visitor, walk_expr};

use crate::reads::Read;

/// The name of the object whose fields are told apart.
const CONTEXT: &str = "context";

/// What an expression reads of the names in its scope; a name other than the context is an input.
pub(super) fn of(expr: &Expr, scope: &[&str]) -> BTreeSet<Read> {
    let mut reader = Reader { scope, reads: BTreeSet::new() };
    reader.visit_expr(expr);
    reader.reads
}

struct Reader<'s> {
    scope: &'s [&'s str],
    reads: BTreeSet<Read>,
}

fn is_context(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(name) if name.id.as_str() == CONTEXT)
}

impl<'a> Visitor<'a> for Reader<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
                (Expr::Attribute(method), Some(Expr::StringLiteral(key)))
                    if method.attr.as_str() == "get" && is_context(&method.value) =>
                {
                    self.reads.insert(Read::Context(key.value.to_str().to_owned()));
                    self.visit_arguments(&call.arguments);
                }
                // A method may use all of its object.
                (Expr::Attribute(method), _) => {
                    self.visit_expr(&method.value);
                    self.visit_arguments(&call.arguments);
                }
                _ => walk_expr(self, expr),
            },
            Expr::Attribute(attribute) if is_context(&attribute.value) => {
                self.reads.insert(Read::Context(attribute.attr.to_string()));
            }
            Expr::Name(name) => {
                let name = name.id.as_str();
                if self.scope.contains(&name) {
                    let whole = name == CONTEXT;
                    self.reads.insert(if whole {
                        Read::EveryContextField
                    } else {
                        Read::Input(name.to_owned())
                    });
                }
            }
            _ => walk_expr(self, expr),
        }
    }
}
