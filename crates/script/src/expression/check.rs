//! The walk over one expression.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{Comprehension, Expr, ExprCall, ExprName, Number};
use ruff_text_size::{Ranged, TextRange};
use stave_diag::codes::script::{
    FORBIDDEN_CALL, FORBIDDEN_EXPRESSION, SUBSCRIPTED_CONTEXT, UNKNOWN_ATTRIBUTE, UNKNOWN_EXPRESSION_NAME,
};
use stave_diag::{Code, Diagnostic, Embedded, Span};

use super::ExpressionCheck;
use super::allowed::{FUNCTIONS, METHODS, WITH_KEY};
use crate::python::parse::bytes;
use crate::suggest::nearest;
use crate::{Used, UsedPath};

/// The one name whose fields are attributes.
const CONTEXT: &str = "context";

pub(super) struct Checker<'t> {
    text: &'t Embedded,
    /// Where the parsed part starts in the text.
    offset: usize,
    scope: &'t [&'t str],
    /// Names bound by the comprehensions and lambdas around the current node.
    local: Vec<String>,
    check: ExpressionCheck,
}

impl<'t> Checker<'t> {
    pub(super) fn new(text: &'t Embedded, offset: usize, scope: &'t [&'t str]) -> Self {
        Checker { text, offset, scope, local: Vec::new(), check: ExpressionCheck::default() }
    }

    pub(super) fn finish(mut self) -> ExpressionCheck {
        stave_diag::sort(&mut self.check.diagnostics);
        self.check
    }

    fn span(&self, range: TextRange) -> Span {
        let range = bytes(range);
        self.text.span(self.offset + range.start..self.offset + range.end)
    }

    fn report(&mut self, code: Code, range: TextRange, message: impl Into<String>, help: impl Into<String>) {
        let diagnostic = Diagnostic::new(code, self.span(range), message).help(help);
        self.check.diagnostics.push(diagnostic);
    }

    fn is_local(&self, name: &str) -> bool {
        self.local.iter().any(|local| local == name)
    }

    fn name(&mut self, name: &ExprName) {
        let id = name.id.as_str();
        if self.is_local(id) {
            return;
        }
        if self.scope.contains(&id) {
            let used = Used { name: id.to_owned(), span: self.span(name.range), optional: false };
            self.check.names.push(used);
        } else if id.starts_with("__") {
            self.report(
                FORBIDDEN_EXPRESSION,
                name.range,
                format!("`{id}` is not for expressions"),
                "leave it out",
            );
        } else if !FUNCTIONS.contains(&id) {
            let help = match nearest(id, self.scope.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("bound here are {}", list(self.scope)),
            };
            self.report(UNKNOWN_EXPRESSION_NAME, name.range, format!("`{id}` is not bound here"), help);
        }
    }

    fn call(&mut self, call: &ExprCall) {
        let mut takes_key = false;
        match &*call.func {
            Expr::Name(name) if self.scope.contains(&name.id.as_str()) || self.is_local(name.id.as_str()) => {
                let message = format!("`{}` is a value, not a function", name.id);
                self.report(FORBIDDEN_CALL, name.range, message, "leave the call out");
            }
            Expr::Name(name) if FUNCTIONS.contains(&name.id.as_str()) => {
                takes_key = WITH_KEY.contains(&name.id.as_str());
            }
            Expr::Name(name) => {
                let help = match nearest(name.id.as_str(), FUNCTIONS.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("an expression may call {}", FUNCTIONS.join(", ")),
                };
                let message = format!("`{}` cannot be called in an expression", name.id);
                self.report(FORBIDDEN_CALL, name.range, message, help);
            }
            Expr::Attribute(attribute) => {
                let method = attribute.attr.as_str();
                let before = self.check.diagnostics.len();
                self.context_get(call, &attribute.value, method);
                self.visit_expr(&attribute.value);
                // A fault of the value makes its methods a matter of guessing.
                if !METHODS.contains(&method) && self.check.diagnostics.len() == before {
                    let help = match nearest(method, METHODS.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "only methods that change nothing can be called".to_owned(),
                    };
                    let message = format!("the method `{method}` cannot be called in an expression");
                    self.report(FORBIDDEN_CALL, attribute.attr.range, message, help);
                }
            }
            other => {
                let message = "only a named function or a method can be called";
                self.report(FORBIDDEN_CALL, other.range(), message, "name the function");
                self.visit_expr(other);
            }
        }
        for argument in &call.arguments.args {
            self.visit_expr(argument);
        }
        for keyword in &call.arguments.keywords {
            let is_key = takes_key && keyword.arg.as_ref().is_some_and(|name| name.as_str() == "key");
            match &keyword.value {
                Expr::Lambda(lambda) if is_key => {
                    let own =
                        lambda.parameters.iter().flat_map(|parameters| parameters.iter_non_variadic_params());
                    for default in own.filter_map(|parameter| parameter.default.as_deref()) {
                        self.visit_expr(default);
                    }
                    let before = self.local.len();
                    let parameters = lambda.parameters.iter().flat_map(|parameters| parameters.iter());
                    self.local.extend(parameters.map(|parameter| parameter.name().to_string()));
                    self.visit_expr(&lambda.body);
                    self.local.truncate(before);
                }
                value => self.visit_expr(value),
            }
        }
    }

    /// `context.get('x')` follows the path `context.x`.
    fn context_get(&mut self, call: &ExprCall, object: &Expr, method: &str) {
        if let (Expr::Name(name), "get", Some(Expr::StringLiteral(key))) =
            (object, method, call.arguments.args.first())
            && name.id.as_str() == CONTEXT
            && !self.is_local(CONTEXT)
        {
            let path = vec![CONTEXT.to_owned(), key.value.to_str().to_owned()];
            let (span, root) = (self.span(call.range()), self.span(name.range));
            self.check.paths.push(UsedPath { path, span, root });
        }
    }

    /// Records the longest literal path that starts at a name of the scope.
    fn path(&mut self, expr: &Expr) {
        if let Some((root, path)) = literal_path(expr)
            && self.scope.contains(&root.id.as_str())
            && !self.is_local(root.id.as_str())
        {
            let (span, root) = (self.span(expr.range()), self.span(root.range));
            self.check.paths.push(UsedPath { path, span, root });
        }
    }

    fn comprehension(&mut self, generators: &[Comprehension], elements: &[&Expr]) {
        let before = self.local.len();
        for generator in generators {
            if generator.is_async {
                self.report(
                    FORBIDDEN_EXPRESSION,
                    generator.range,
                    "an async comprehension",
                    "leave `async` out",
                );
            }
            self.visit_expr(&generator.iter);
            targets(&generator.target, &mut self.local);
            for condition in &generator.ifs {
                self.visit_expr(condition);
            }
        }
        for element in elements {
            self.visit_expr(element);
        }
        self.local.truncate(before);
    }

    /// Whether an expression is a name that is not bound.
    fn is_unknown(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Name(name) if {
            let id = name.id.as_str();
            !self.is_local(id) && !self.scope.contains(&id) && !FUNCTIONS.contains(&id)
        })
    }

    fn is_context(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Name(name) if name.id.as_str() == CONTEXT) && !self.is_local(CONTEXT)
    }
}

impl<'a> Visitor<'a> for Checker<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.name(name),
            Expr::Call(call) => self.call(call),
            Expr::Attribute(attribute) => {
                if self.is_context(&attribute.value) {
                    self.path(expr);
                    self.visit_expr(&attribute.value);
                    return;
                }
                // A name that is not bound is reported as such, whatever is read from it.
                if self.is_unknown(&attribute.value) {
                    self.visit_expr(&attribute.value);
                    return;
                }
                // Below a field of the context there is plain data again.
                let field = attribute.attr.as_str();
                let message = format!("a plain value has no attribute `{field}`");
                self.report(UNKNOWN_ATTRIBUTE, attribute.attr.range, message, format!("write `['{field}']`"));
                self.visit_expr(&attribute.value);
            }
            Expr::Subscript(subscript) => {
                if self.is_context(&subscript.value) {
                    let help = match &*subscript.slice {
                        Expr::StringLiteral(key) => format!("write `context.{}`", key.value.to_str()),
                        _ => "write `context.get(name)`".to_owned(),
                    };
                    self.report(
                        SUBSCRIPTED_CONTEXT,
                        subscript.range,
                        "`context` has attributes, not items",
                        help,
                    );
                } else {
                    self.path(expr);
                }
                // The inner steps of a path that was recorded are not paths of their own.
                let mut inner = &*subscript.value;
                self.visit_expr(&subscript.slice);
                while let Expr::Subscript(step) = inner {
                    if literal_path(inner).is_none() {
                        break;
                    }
                    inner = &step.value;
                }
                self.visit_expr(inner);
            }
            Expr::ListComp(list) => self.comprehension(&list.generators, &[&list.elt]),
            Expr::SetComp(set) => self.comprehension(&set.generators, &[&set.elt]),
            Expr::Generator(generator) => self.comprehension(&generator.generators, &[&generator.elt]),
            Expr::DictComp(dict) => {
                let elements: Vec<&Expr> = dict.key.as_deref().into_iter().chain([&*dict.value]).collect();
                self.comprehension(&dict.generators, &elements);
            }
            Expr::Named(named) => {
                self.report(
                    FORBIDDEN_EXPRESSION,
                    expr.range(),
                    "an expression binds no names",
                    "leave `:=` out",
                );
                // What comes after it is judged as if the name were there.
                targets(&named.target, &mut self.local);
                self.visit_expr(&named.value);
            }
            Expr::Lambda(_) => self.report(
                FORBIDDEN_EXPRESSION,
                expr.range(),
                "a `lambda` is only allowed as the `key` of `sorted`, `min` or `max`",
                "use a comprehension",
            ),
            Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.report(
                    FORBIDDEN_EXPRESSION,
                    expr.range(),
                    "an expression waits for nothing",
                    "leave it out",
                );
            }
            Expr::BytesLiteral(_) | Expr::TString(_) | Expr::EllipsisLiteral(_) => {
                self.report(FORBIDDEN_EXPRESSION, expr.range(), "this literal is not JSON", "use text");
            }
            Expr::NumberLiteral(number) if matches!(number.value, Number::Complex { .. }) => {
                self.report(
                    FORBIDDEN_EXPRESSION,
                    expr.range(),
                    "a complex number is not JSON",
                    "use a number",
                );
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// `value['a']['b']` and `context.a['b']` as their root name and parts.
fn literal_path(expr: &Expr) -> Option<(&ExprName, Vec<String>)> {
    match expr {
        Expr::Name(name) => Some((name, vec![name.id.to_string()])),
        Expr::Attribute(attribute) => {
            let (root, mut path) = literal_path(&attribute.value)?;
            (root.id.as_str() == CONTEXT && path.len() == 1).then(|| {
                path.push(attribute.attr.to_string());
                (root, path)
            })
        }
        Expr::Subscript(subscript) => {
            let Expr::StringLiteral(key) = &*subscript.slice else { return None };
            let (root, mut path) = literal_path(&subscript.value)?;
            path.push(key.value.to_str().to_owned());
            Some((root, path))
        }
        _ => None,
    }
}

fn targets(target: &Expr, names: &mut Vec<String>) {
    match target {
        Expr::Name(name) => names.push(name.id.to_string()),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| targets(element, names)),
        Expr::List(list) => list.elts.iter().for_each(|element| targets(element, names)),
        Expr::Starred(starred) => targets(&starred.value, names),
        _ => {}
    }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Finds the names an evaluator has to bind.
#[derive(Default)]
pub(super) struct FreeNames {
    pub(super) names: Vec<String>,
}

impl<'a> Visitor<'a> for FreeNames {
    fn visit_expr(&mut self, expr: &'a Expr) {
        // A name that a comprehension binds is listed too; binding it once more outside does no harm.
        if let Expr::Name(name) = expr
            && !self.names.iter().any(|known| known == name.id.as_str())
        {
            self.names.push(name.id.to_string());
        }
        walk_expr(self, expr);
    }
}
