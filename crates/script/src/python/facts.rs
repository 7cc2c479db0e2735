//! What `transform` does with its three arguments, and the mistakes that show along the way.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{CmpOp, Expr, ExprCall, ExprContext, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};
use stave_diag::codes::script::{SUBSCRIPTED_CONTEXT, UNAWAITED_STATE_CALL, UNKNOWN_STATE_METHOD};
use stave_diag::{Diagnostic, Embedded, Fix};

use super::builtins::is_builtin;
use super::parse::bytes;
use super::undefined_name::{bindings, parameter_names};
use super::{Returned, StateMethod, StateUse, TransformFacts};
use crate::Used;

pub(super) fn collect(
    code: &Embedded,
    transform: &StmtFunctionDef,
    diagnostics: &mut Vec<Diagnostic>,
) -> TransformFacts {
    let mut names = parameter_names(&transform.parameters);
    let mut collector = Collector {
        code,
        inputs: names.next().unwrap_or_default(),
        context: names.next().unwrap_or_default(),
        state: names.next().unwrap_or_default(),
        handed_on: handed_on(&transform.body),
        facts: TransformFacts {
            inputs_complete: true,
            context_complete: true,
            state_complete: true,
            is_async: transform.is_async,
            ..TransformFacts::default()
        },
        diagnostics,
        functions: 0,
        may_wait: false,
    };
    collector.visit_body(&transform.body);
    collector.facts
}

struct Collector<'a, 'd> {
    code: &'d Embedded,
    inputs: &'a str,
    context: &'a str,
    state: &'a str,
    /// Names whose value is awaited or passed on later, so that a call kept in one is not lost.
    handed_on: HashSet<&'a str>,
    facts: TransformFacts,
    diagnostics: &'d mut Vec<Diagnostic>,
    /// How many functions lie between `transform` and here.
    functions: usize,
    /// Whether the expression that comes next is awaited in its place, or by its receiver.
    may_wait: bool,
}

/// The three arguments of `transform`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Argument {
    Inputs,
    Context,
    State,
}

impl<'a> Collector<'a, '_> {
    fn argument(&self, expr: &Expr) -> Option<Argument> {
        let Expr::Name(name) = expr else { return None };
        match name.id.as_str() {
            "" => None,
            id if id == self.inputs => Some(Argument::Inputs),
            id if id == self.context => Some(Argument::Context),
            id if id == self.state => Some(Argument::State),
            _ => None,
        }
    }

    fn used(&self, name: &str, range: TextRange, optional: bool) -> Used {
        Used { name: name.to_owned(), span: self.code.span(bytes(range)), optional }
    }

    /// A method call on one of the arguments. True when it was one that is understood.
    fn method(&mut self, call: &'a ExprCall, awaited: bool) -> bool {
        let Expr::Attribute(attribute) = &*call.func else { return false };
        let method = attribute.attr.as_str();
        let key = call.arguments.args.first();
        let literal = key.and_then(text_literal);
        match (self.argument(&attribute.value), method, literal) {
            (Some(Argument::Inputs), "get", Some(name)) => {
                let used = self.used(name, key.map_or(call.range(), Ranged::range), true);
                self.facts.inputs.push(used);
            }
            (Some(Argument::Context), "get", Some(name)) => {
                let used = self.used(name, key.map_or(call.range(), Ranged::range), true);
                self.facts.context.push(used);
            }
            (Some(Argument::Context), "get", None) => self.facts.context_complete = false,
            (Some(Argument::State), _, _) => self.state_call(call, attribute, literal, awaited),
            _ => return false,
        }
        self.visit_arguments(&call.arguments);
        true
    }

    fn state_call(
        &mut self,
        call: &ExprCall,
        attribute: &ruff_python_ast::ExprAttribute,
        literal: Option<&str>,
        awaited: bool,
    ) {
        let method = match attribute.attr.as_str() {
            "get" => StateMethod::Get,
            "set" => StateMethod::Set,
            "delete" => StateMethod::Delete,
            other => {
                let span = self.code.span(bytes(attribute.attr.range));
                self.diagnostics.push(
                    Diagnostic::new(UNKNOWN_STATE_METHOD, span, format!("`state` has no method `{other}`"))
                        .help("use `await state.get(key, default)`, `state.set(key, value)` or `state.delete(key)`"),
                );
                return;
            }
        };
        let span = self.code.span(bytes(call.range()));
        self.facts.state.push(StateUse { method, key: literal.map(str::to_owned), span });
        if !awaited {
            let call_start = bytes(call.range()).start;
            self.diagnostics.push(
                Diagnostic::new(
                    UNAWAITED_STATE_CALL,
                    span,
                    format!("nothing awaits `state.{}`", attribute.attr),
                )
                .help("write `await` before the call")
                .fix(Fix::replace(
                    "await the call",
                    self.code.span(call_start..call_start),
                    "await ",
                )),
            );
        }
    }

    fn each(&mut self, exprs: impl IntoIterator<Item = &'a Expr>, may_wait: bool) {
        for expr in exprs {
            self.may_wait = may_wait;
            self.visit_expr(expr);
        }
    }

    fn returned(&mut self, value: Option<&'a Expr>, range: TextRange) {
        let mut returned = Returned { span: self.code.span(bytes(range)), keys: Vec::new(), complete: false };
        if let Some(Expr::Dict(dict)) = value {
            returned.complete = true;
            for item in &dict.items {
                match item.key.as_ref().and_then(|key| text_literal(key).map(|name| (name, key.range()))) {
                    Some((name, range)) => returned.keys.push(self.used(name, range, false)),
                    None => returned.complete = false,
                }
            }
        }
        self.facts.returns.push(returned);
    }
}

impl<'a> Visitor<'a> for Collector<'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.may_wait = false;
        match stmt {
            Stmt::FunctionDef(function) => {
                // A parameter or variable of the same name is another thing inside the function.
                let bound = bindings(&function.body).bound;
                let shadows = |name: &str| {
                    bound.contains(name) || parameter_names(&function.parameters).any(|own| own == name)
                };
                let outer = (self.inputs, self.context, self.state);
                for name in [&mut self.inputs, &mut self.context, &mut self.state] {
                    if shadows(name) {
                        *name = "";
                    }
                }
                self.functions += 1;
                self.visit_body(&function.body);
                self.functions -= 1;
                (self.inputs, self.context, self.state) = outer;
            }
            Stmt::Return(statement) => {
                if self.functions == 0 {
                    self.returned(statement.value.as_deref(), statement.range);
                }
                if let Some(value) = &statement.value {
                    self.may_wait = self.functions > 0;
                    self.visit_expr(value);
                }
            }
            Stmt::Assign(assign) => {
                let kept = matches!(assign.targets.as_slice(), [Expr::Name(name)] if self.handed_on.contains(name.id.as_str()));
                self.each([&*assign.value], kept);
                self.each(&assign.targets, false);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expr: &'a Expr) {
        let awaited = std::mem::take(&mut self.may_wait);
        match expr {
            Expr::Await(wait) => {
                if self.functions == 0 && self.facts.first_await.is_none() {
                    self.facts.first_await = Some(self.code.span(bytes(wait.range())));
                }
                self.each([&*wait.value], true);
            }
            Expr::Call(call) => {
                if self.method(call, awaited) {
                    return;
                }
                // What a builtin is given, it uses at once; anything else may await it.
                let builtin = matches!(&*call.func, Expr::Name(name) if is_builtin(name.id.as_str()));
                self.visit_expr(&call.func);
                self.each(&call.arguments.args, !builtin);
                self.each(call.arguments.keywords.iter().map(|keyword| &keyword.value), !builtin);
            }
            Expr::Starred(starred) => self.each([&*starred.value], awaited),
            Expr::List(list) => self.each(&list.elts, true),
            Expr::Tuple(tuple) => self.each(&tuple.elts, true),
            Expr::ListComp(list) => {
                list.generators.iter().for_each(|generator| self.visit_comprehension(generator));
                self.each([&*list.elt], true);
            }
            Expr::Generator(generator) => {
                generator.generators.iter().for_each(|generator| self.visit_comprehension(generator));
                self.each([&*generator.elt], true);
            }
            Expr::If(choice) => {
                self.visit_expr(&choice.test);
                self.each([&*choice.body, &*choice.orelse], awaited);
            }
            Expr::Subscript(subscript) => match self.argument(&subscript.value) {
                Some(Argument::Inputs) if text_literal(&subscript.slice).is_some() => {
                    if let Some(name) = text_literal(&subscript.slice)
                        && subscript.ctx == ExprContext::Load
                    {
                        let used = self.used(name, subscript.slice.range(), false);
                        self.facts.inputs.push(used);
                    }
                }
                Some(Argument::Context) => {
                    let span = self.code.span(bytes(subscript.range));
                    let help = match text_literal(&subscript.slice) {
                        Some(name) => format!("write `context.{name}`"),
                        None => "write `context.get(name)`".to_owned(),
                    };
                    self.diagnostics.push(
                        Diagnostic::new(SUBSCRIPTED_CONTEXT, span, "`context` has attributes, not items")
                            .help(help),
                    );
                }
                _ => walk_expr(self, expr),
            },
            Expr::Attribute(attribute) => match self.argument(&attribute.value) {
                Some(Argument::Context) => {
                    let used = self.used(attribute.attr.as_str(), attribute.range, false);
                    self.facts.context.push(used);
                }
                _ => walk_expr(self, expr),
            },
            Expr::Compare(compare) => {
                if let (Some(name), [CmpOp::In | CmpOp::NotIn], [container]) =
                    (text_literal(&compare.left), &*compare.ops, &*compare.comparators)
                    && self.argument(container) == Some(Argument::Inputs)
                {
                    let used = self.used(name, compare.left.range(), true);
                    self.facts.inputs.push(used);
                } else {
                    walk_expr(self, expr);
                }
            }
            Expr::Name(_) => match self.argument(expr) {
                Some(Argument::Inputs) => self.facts.inputs_complete = false,
                Some(Argument::Context) => self.facts.context_complete = false,
                Some(Argument::State) => self.facts.state_complete = false,
                None => {}
            },
            _ => walk_expr(self, expr),
        }
    }
}

fn text_literal(expr: &Expr) -> Option<&str> {
    if let Expr::StringLiteral(literal) = expr { Some(literal.value.to_str()) } else { None }
}

/// The names under an `await`, in a call or in a collection anywhere in the body.
fn handed_on(body: &[Stmt]) -> HashSet<&str> {
    #[derive(Default)]
    struct Handed<'a>(HashSet<&'a str>);
    impl<'a> Handed<'a> {
        fn take(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(name) => {
                    self.0.insert(name.id.as_str());
                }
                Expr::Starred(starred) => self.take(&starred.value),
                _ => {}
            }
        }
    }
    impl<'a> Visitor<'a> for Handed<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Await(wait) => self.take(&wait.value),
                Expr::Call(call) => call.arguments.args.iter().for_each(|argument| self.take(argument)),
                Expr::List(list) => list.elts.iter().for_each(|element| self.take(element)),
                Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.take(element)),
                _ => {}
            }
            walk_expr(self, expr);
        }
    }
    let mut handed = Handed::default();
    handed.visit_body(body);
    handed.0
}
