//! Which of its arguments' fields a code transform reads.
//!
//! Scopes are ignored: wherever the name of an argument occurs, in a default argument, a closure, a
//! comprehension or a function that has a parameter of the same name, the argument itself may be meant. Only a
//! literal field counts as one field; an argument by itself may be passed on, and counts as all of its
//! fields. So does every argument when the code could reach `transform`'s variables without naming them.
//!
//! Invariant: see [`crate::reads`].

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprContext, Stmt, StmtFunctionDef};

use super::undefined_name::parameter_names;
use crate::reads::Read;

/// What a transform reads of its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransformReads {
    pub values: BTreeSet<Read>,
    /// Whether the code may read its state.
    pub gets_state: bool,
    /// Whether the code may write its state.
    pub sets_state: bool,
}

impl TransformReads {
    /// What code reads of which nothing is known.
    pub(super) fn everything() -> TransformReads {
        let values = BTreeSet::from([Read::EveryInput, Read::EveryContextField, Read::Reply]);
        TransformReads { values, gets_state: true, sets_state: true }
    }
}

/// Names that reach a function's variables without naming them.
const REFLECTION: &[&str] =
    &["dir", "eval", "exec", "compile", "globals", "locals", "vars", "__import__", "inspect", "sys", "gc"];
/// Attributes that do the same, besides those with two underscores.
const FRAMES: &[&str] =
    &["f_locals", "f_globals", "f_back", "gi_frame", "cr_frame", "ag_frame", "tb_frame", "tb_next"];
/// What the context has besides its fields.
const CONTEXT_METHODS: &[&str] =
    &["copy", "get", "items", "keys", "pop", "setdefault", "to_dict", "update", "values"];

pub(super) fn of(body: &[Stmt], transform: &StmtFunctionDef) -> TransformReads {
    let mut module = Reflection::default();
    module.visit_body(body);
    let definitions = body.iter().filter(
        |stmt| matches!(stmt, Stmt::FunctionDef(function) if function.name.as_str() == transform.name.as_str()),
    );
    // A `transform` that is bound again, or wrapped, is another function than the one that is looked at.
    let is_plain = definitions.count() == 1 && transform.decorator_list.is_empty() && !module.binds_transform;
    if module.reflects || !is_plain {
        return TransformReads::everything();
    }
    let names: Vec<&str> = parameter_names(&transform.parameters).collect();
    let [inputs, context, state] = names.as_slice() else { return TransformReads::everything() };
    let mut reader = Reader { inputs, context, state, reads: TransformReads::default() };
    reader.visit_body(&transform.body);
    reader.reads
}

/// Looks for code that could do without names.
#[derive(Default)]
struct Reflection {
    reflects: bool,
    binds_transform: bool,
}

impl<'a> Visitor<'a> for Reflection {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let is_transform = |name: &str| name == "transform";
        self.binds_transform |= match stmt {
            Stmt::ClassDef(class) => is_transform(&class.name),
            Stmt::Global(global) => global.names.iter().any(|name| is_transform(name)),
            Stmt::Import(import) => {
                import.names.iter().any(|alias| is_transform(alias.asname.as_ref().unwrap_or(&alias.name)))
            }
            Stmt::ImportFrom(import) => {
                import.names.iter().any(|alias| is_transform(alias.asname.as_ref().unwrap_or(&alias.name)))
            }
            _ => false,
        };
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                self.reflects |= REFLECTION.contains(&name.id.as_str());
                self.binds_transform |= name.id.as_str() == "transform" && name.ctx != ExprContext::Load;
            }
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                self.reflects |= (name.starts_with("__") && name != "__name__") || FRAMES.contains(&name);
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

struct Reader<'n> {
    inputs: &'n str,
    context: &'n str,
    state: &'n str,
    reads: TransformReads,
}

impl Reader<'_> {
    fn is(&self, expr: &Expr, argument: &str) -> bool {
        matches!(expr, Expr::Name(name) if name.id.as_str() == argument)
    }

    fn add(&mut self, read: Read) {
        self.reads.values.insert(read);
    }

    fn whole(&mut self, name: &str) {
        if name == self.inputs {
            self.add(Read::EveryInput);
            self.add(Read::Reply);
        }
        if name == self.context {
            self.add(Read::EveryContextField);
        }
        if name == self.state {
            self.reads.gets_state = true;
            self.reads.sets_state = true;
        }
    }

    /// A method call on an argument that reads a literal field; false for any other call.
    fn method(&mut self, call: &ExprCall) -> bool {
        let Expr::Attribute(attribute) = &*call.func else { return false };
        let key = call.arguments.args.first().and_then(text_literal);
        match (attribute.attr.as_str(), key) {
            ("get", Some(key)) if self.is(&attribute.value, self.inputs) => self.add(Read::of_input(key)),
            ("get", Some(key)) if self.is(&attribute.value, self.context) => {
                self.add(Read::Context(key.to_owned()));
            }
            ("get", _) if self.is(&attribute.value, self.state) => self.reads.gets_state = true,
            ("set" | "delete", _) if self.is(&attribute.value, self.state) => self.reads.sets_state = true,
            // A method may use all of its object.
            _ if self.is(&attribute.value, self.context) => self.add(Read::EveryContextField),
            _ => return false,
        }
        true
    }
}

impl<'a> Visitor<'a> for Reader<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) if self.method(call) => self.visit_arguments(&call.arguments),
            Expr::Subscript(subscript) if self.is(&subscript.value, self.inputs) => {
                match text_literal(&subscript.slice) {
                    Some(name) => self.add(Read::of_input(name)),
                    None => walk_expr(self, expr),
                }
            }
            Expr::Attribute(attribute) if self.is(&attribute.value, self.context) => {
                let field = attribute.attr.as_str();
                if field.starts_with('_') || CONTEXT_METHODS.contains(&field) {
                    self.add(Read::EveryContextField);
                } else {
                    self.add(Read::Context(field.to_owned()));
                }
            }
            Expr::Compare(compare) => {
                if let (Some(name), [CmpOp::In | CmpOp::NotIn], [container]) =
                    (text_literal(&compare.left), &*compare.ops, &*compare.comparators)
                    && self.is(container, self.inputs)
                {
                    self.add(Read::of_input(name));
                } else {
                    walk_expr(self, expr);
                }
            }
            Expr::Name(name) => self.whole(name.id.as_str()),
            _ => walk_expr(self, expr),
        }
    }
}

fn text_literal(expr: &Expr) -> Option<&str> {
    if let Expr::StringLiteral(literal) = expr { Some(literal.value.to_str()) } else { None }
}
