//! Which values a template reads, and which of them each `{{ … }}` prints.
//!
//! The analysis ignores scopes and order: a name that the template binds anywhere means everything that
//! is ever bound to it, and also the value of the same name outside. What a macro is called with, its parameters
//! may be, whichever macro it is. A value that decides whether text is printed counts as read by that text.
//!
//! Invariant: see [`crate::reads`]; a template never prints a value that is not named here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use minijinja::machinery::{Span as Place, ast};

use crate::reads::Read;

/// The name of the object whose fields are told apart.
const CONTEXT: &str = "context";
/// Represents the arguments of every call in the template. No template can bind this name.
const ARGUMENTS: &str = "()";

/// What a template reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TemplateReads {
    /// Every use of a value from outside, with its place.
    pub(super) uses: Vec<(Read, Range<usize>)>,
    /// Every printed expression with its place, in the order of the text.
    pub(super) prints: Vec<(Range<usize>, Printed)>,
    /// What conditions and loops anywhere in the template read.
    pub(super) control: BTreeSet<Read>,
}

/// What one `{{ … }}` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Printed {
    /// The outside names that the text is made of.
    pub(super) roots: Vec<String>,
    /// Everything that the text reveals something about.
    pub(super) reads: BTreeSet<Read>,
}

impl TemplateReads {
    /// Everything that the template reads.
    pub(super) fn all(&self) -> BTreeSet<Read> {
        self.uses.iter().map(|(read, _)| read.clone()).collect()
    }

    /// What is printed by the expression within these bytes; everything when there is none.
    pub(super) fn printed(&self, range: &Range<usize>) -> Printed {
        let found =
            self.prints.iter().find(|(place, _)| range.start <= place.start && place.start < range.end);
        found.map_or_else(|| Printed::of(self.all(), &BTreeSet::new()), |(_, printed)| printed.clone())
    }
}

impl Printed {
    pub(super) fn of(made_of: BTreeSet<Read>, control: &BTreeSet<Read>) -> Printed {
        let roots: BTreeSet<String> = made_of
            .iter()
            .map(|read| match read {
                Read::Input(name) => name.clone(),
                _ => CONTEXT.to_owned(),
            })
            .collect();
        let reads = made_of.into_iter().chain(control.iter().cloned()).collect();
        Printed { roots: roots.into_iter().collect(), reads }
    }
}

/// Reads a template's tree. `scope` are the names of the values from outside.
pub(super) fn of_tree(tree: &ast::Stmt<'_>, scope: &[&str]) -> TemplateReads {
    let mut walker =
        Walker { scope, locals: BTreeMap::new(), uses: Vec::new(), prints: Vec::new(), control: vec![] };
    walker.stmt(tree);
    let mut reads = TemplateReads { uses: std::mem::take(&mut walker.uses), ..TemplateReads::default() };
    for (place, made_of, control) in &walker.prints {
        let control = walker.resolved(control);
        reads.control.extend(control.iter().cloned());
        reads.prints.push((place.clone(), Printed::of(walker.resolved(made_of), &control)));
    }
    let conditions = walker.locals.get(CONTROL).cloned().unwrap_or_default();
    reads.control.extend(walker.resolved(&conditions));
    reads
}

/// Represents everything that a condition or a loop reads.
const CONTROL: &str = "(control)";

/// Values from outside and names that the template may bind.
#[derive(Debug, Clone, Default)]
struct Facts<'t> {
    reads: BTreeSet<Read>,
    names: BTreeSet<&'t str>,
}

impl<'t> Facts<'t> {
    fn add(&mut self, other: Facts<'t>) {
        self.reads.extend(other.reads);
        self.names.extend(other.names);
    }

    fn named(name: &'t str) -> Facts<'t> {
        Facts { reads: BTreeSet::new(), names: BTreeSet::from([name]) }
    }
}

struct Walker<'w, 't> {
    scope: &'w [&'w str],
    /// By name, what the template binds to it.
    locals: BTreeMap<&'t str, Facts<'t>>,
    uses: Vec<(Read, Range<usize>)>,
    prints: Vec<(Range<usize>, Facts<'t>, Facts<'t>)>,
    /// What the conditions and loops around the current place read.
    control: Vec<Facts<'t>>,
}

impl<'t> Walker<'_, 't> {
    fn resolved(&self, facts: &Facts<'t>) -> BTreeSet<Read> {
        let mut reads = facts.reads.clone();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = facts.names.iter().copied().collect();
        while let Some(name) = open.pop() {
            if let Some(bound) = self.locals.get(name).filter(|_| seen.insert(name)) {
                reads.extend(bound.reads.iter().cloned());
                open.extend(&bound.names);
            }
        }
        reads
    }

    fn bind(&mut self, name: &'t str, facts: Facts<'t>) {
        self.locals.entry(name).or_default().add(facts);
    }

    fn around(&self) -> Facts<'t> {
        self.control.iter().cloned().fold(Facts::default(), |mut all, facts| {
            all.add(facts);
            all
        })
    }

    /// Walks a body that is run or not as these facts decide.
    fn under(&mut self, decides: Facts<'t>, walk: impl FnOnce(&mut Self) -> Facts<'t>) -> Facts<'t> {
        self.bind(CONTROL, decides.clone());
        self.control.push(decides.clone());
        let mut facts = walk(self);
        self.control.pop();
        facts.add(decides);
        facts
    }

    fn body(&mut self, body: &[ast::Stmt<'t>]) -> Facts<'t> {
        let mut facts = Facts::default();
        for stmt in body {
            facts.add(self.stmt(stmt));
        }
        facts
    }

    /// Everything that a statement reads.
    fn stmt(&mut self, stmt: &ast::Stmt<'t>) -> Facts<'t> {
        match stmt {
            ast::Stmt::Template(template) => self.body(&template.children),
            ast::Stmt::EmitExpr(emit) => {
                let facts = self.expr(&emit.expr);
                self.prints.push((range(emit.expr.span()), facts.clone(), self.around()));
                facts
            }
            ast::Stmt::EmitRaw(_) | ast::Stmt::Continue(_) | ast::Stmt::Break(_) => Facts::default(),
            ast::Stmt::ForLoop(each) => self.for_loop(each),
            ast::Stmt::IfCond(choice) => {
                let decides = self.expr(&choice.expr);
                self.under(decides, |walker| {
                    let mut facts = walker.body(&choice.true_body);
                    facts.add(walker.body(&choice.false_body));
                    facts
                })
            }
            ast::Stmt::WithBlock(with) => {
                let mut facts = Facts::default();
                for (target, value) in &with.assignments {
                    let value = self.expr(value);
                    facts.add(self.assign(target, value));
                }
                facts.add(self.body(&with.body));
                facts
            }
            ast::Stmt::Set(set) => {
                let value = self.expr(&set.expr);
                self.assign(&set.target, value)
            }
            ast::Stmt::SetBlock(set) => {
                let mut value = self.body(&set.body);
                if let Some(filter) = &set.filter {
                    value.add(self.expr(filter));
                }
                self.assign(&set.target, value)
            }
            ast::Stmt::AutoEscape(escape) => {
                let mut facts = self.expr(&escape.enabled);
                facts.add(self.body(&escape.body));
                facts
            }
            ast::Stmt::FilterBlock(filter) => {
                let mut facts = self.expr(&filter.filter);
                facts.add(self.body(&filter.body));
                facts
            }
            ast::Stmt::Macro(definition) => {
                let facts = self.macro_body(definition);
                self.bind(definition.name, facts.clone());
                facts
            }
            ast::Stmt::CallBlock(block) => {
                let mut facts = self.macro_body(&block.macro_decl);
                self.bind("caller", facts.clone());
                facts.add(self.call(&block.call));
                facts
            }
            ast::Stmt::Do(statement) => self.call(&statement.call),
            // The engine has no other templates; were there one, it could read anything.
            ast::Stmt::Include(tag) => self.anything(tag.span()),
            ast::Stmt::Import(tag) => self.anything(tag.span()),
            ast::Stmt::FromImport(tag) => self.anything(tag.span()),
            ast::Stmt::Extends(tag) => self.anything(tag.span()),
            ast::Stmt::Block(block) => {
                let mut facts = self.anything(block.span());
                facts.add(self.body(&block.body));
                self.bind("self", facts.clone());
                facts
            }
        }
    }

    fn anything(&mut self, place: Place) -> Facts<'t> {
        let mut facts = Facts::default();
        let scope: Vec<String> = self.scope.iter().map(|name| (*name).to_owned()).collect();
        for name in scope {
            let read = if name == CONTEXT { Read::EveryContextField } else { Read::Input(name) };
            self.uses.push((read.clone(), range(place)));
            facts.reads.insert(read);
        }
        facts
    }

    fn for_loop(&mut self, each: &ast::ForLoop<'t>) -> Facts<'t> {
        let mut items = self.expr(&each.iter);
        // A recursive loop is called with other items.
        items.add(Facts::named(ARGUMENTS));
        self.assign(&each.target, items.clone());
        if let Some(filter) = &each.filter_expr {
            items.add(self.expr(filter));
        }
        let facts = self.under(items, |walker| {
            let mut facts = walker.body(&each.body);
            facts.add(walker.body(&each.else_body));
            facts
        });
        self.bind("loop", facts.clone());
        facts
    }

    fn macro_body(&mut self, definition: &ast::Macro<'t>) -> Facts<'t> {
        let mut given = Facts::named(ARGUMENTS);
        for default in &definition.defaults {
            given.add(self.expr(default));
        }
        for argument in &definition.args {
            self.assign(argument, given.clone());
        }
        for name in ["varargs", "kwargs"] {
            self.bind(name, given.clone());
        }
        let mut facts = self.body(&definition.body);
        facts.add(given);
        facts
    }

    /// Binds the names of a target. What decides whether it is bound shows in its value too.
    fn assign(&mut self, target: &ast::Expr<'t>, mut value: Facts<'t>) -> Facts<'t> {
        value.add(self.around());
        self.bind_target(target, &value);
        value
    }

    fn bind_target(&mut self, target: &ast::Expr<'t>, value: &Facts<'t>) {
        match target {
            ast::Expr::Var(var) => self.bind(var.id, value.clone()),
            ast::Expr::List(list) => list.items.iter().for_each(|item| self.bind_target(item, value)),
            ast::Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.bind_target(item, value)),
            // A field of a namespace: the namespace holds it from now on.
            ast::Expr::GetAttr(step) => self.bind_target(&step.expr, value),
            ast::Expr::GetItem(step) => self.bind_target(&step.expr, value),
            other => {
                self.expr(other);
            }
        }
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e ast::Expr<'t>>) -> Facts<'t>
    where
        't: 'e,
    {
        let mut facts = Facts::default();
        for expr in exprs {
            facts.add(self.expr(expr));
        }
        facts
    }

    fn expr(&mut self, expr: &ast::Expr<'t>) -> Facts<'t> {
        match expr {
            ast::Expr::Var(var) => self.name(var.id, None, var.span()),
            ast::Expr::Const(_) => Facts::default(),
            ast::Expr::GetAttr(step) => match &step.expr {
                ast::Expr::Var(root) => self.name(root.id, Some(step.name), step.span()),
                inner => self.expr(inner),
            },
            ast::Expr::GetItem(step) => {
                let key = step.subscript_expr.as_const();
                match (&step.expr, key.as_ref().and_then(|key| key.as_str())) {
                    (ast::Expr::Var(root), Some(key)) => self.name(root.id, Some(key), step.span()),
                    (inner, _) => self.exprs([inner, &step.subscript_expr]),
                }
            }
            ast::Expr::Slice(slice) => {
                let parts = [&slice.start, &slice.stop, &slice.step].into_iter().flatten();
                self.exprs([&slice.expr].into_iter().chain(parts))
            }
            ast::Expr::UnaryOp(unary) => self.expr(&unary.expr),
            ast::Expr::BinOp(binary) => self.exprs([&binary.left, &binary.right]),
            ast::Expr::Compare(compare) => {
                self.exprs([&compare.expr].into_iter().chain(compare.ops.iter().map(|operand| &operand.expr)))
            }
            ast::Expr::IfExpr(choice) => {
                self.exprs([&choice.test_expr, &choice.true_expr].into_iter().chain(&choice.false_expr))
            }
            ast::Expr::Filter(filter) => {
                let mut facts = self.exprs(&filter.expr);
                facts.add(self.arguments(&filter.args));
                facts
            }
            ast::Expr::Test(test) => {
                let mut facts = self.expr(&test.expr);
                facts.add(self.arguments(&test.args));
                facts
            }
            ast::Expr::Call(call) => self.call(call),
            ast::Expr::List(list) => self.exprs(&list.items),
            ast::Expr::Tuple(tuple) => self.exprs(&tuple.items),
            ast::Expr::Map(map) => self.exprs(map.keys.iter().chain(&map.values)),
        }
    }

    /// A name, or a literal field of it.
    fn name(&mut self, name: &'t str, field: Option<&str>, place: Place) -> Facts<'t> {
        let mut facts = Facts::named(name);
        if self.scope.contains(&name) {
            let read = match field {
                Some(field) if name == CONTEXT => Read::Context(field.to_owned()),
                None if name == CONTEXT => Read::EveryContextField,
                _ => Read::Input(name.to_owned()),
            };
            self.uses.push((read.clone(), range(place)));
            facts.reads.insert(read);
        }
        facts
    }

    fn call(&mut self, call: &ast::Spanned<ast::Call<'t>>) -> Facts<'t> {
        // A method may use all of its object: `context.items()` is no field `items`.
        let mut facts = match &call.expr {
            ast::Expr::GetAttr(method) => self.expr(&method.expr),
            ast::Expr::GetItem(method) => self.exprs([&method.expr, &method.subscript_expr]),
            other => self.expr(other),
        };
        let arguments = self.arguments(&call.args);
        self.bind(ARGUMENTS, arguments.clone());
        facts.add(arguments);
        facts
    }

    fn arguments(&mut self, arguments: &[ast::CallArg<'t>]) -> Facts<'t> {
        let mut facts = Facts::default();
        for argument in arguments {
            match argument {
                ast::CallArg::Pos(value)
                | ast::CallArg::Kwarg(_, value)
                | ast::CallArg::PosSplat(value)
                | ast::CallArg::KwargSplat(value) => facts.add(self.expr(value)),
            }
        }
        facts
    }
}

fn range(place: Place) -> Range<usize> {
    place.start_offset as usize..place.end_offset as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jinja::syntax;

    fn reads(template: &str) -> String {
        let tree = syntax::tree(template).unwrap();
        let found = of_tree(&tree, &["text", "context"]);
        let words = found.all().into_iter().map(|read| match read {
            Read::Input(name) => name,
            Read::Context(field) => format!("context.{field}"),
            Read::EveryContextField => "context.*".to_owned(),
            other => format!("{other:?}"),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_literal_field_is_one_field_and_any_other_use_is_all_of_them() {
        for template in
            ["{{ context.a }}", "{{ context['a'] }}", "{{ context.a.b[0] }}", "{{ context.a|upper }}"]
        {
            assert_eq!(reads(template), "context.a", "{template}");
        }
        for template in [
            "{{ context }}",
            "{{ context | tojson }}",
            "{{ context.items() }}",
            "{{ context.values() | list }}",
            "{{ context.get('diag' ~ 'nosis') }}",
            "{{ context | attr('diagnosis') }}",
            "{{ context['get']('diagnosis') }}",
            "{% set c = context %}{{ c.diagnosis }}",
            "{% with c = context %}{{ c.a }}{% endwith %}",
            "{% for k in context %}{{ k }}{% endfor %}",
            "{% for k, v in context | items %}{{ v }}{% endfor %}",
            "{% macro m(c) %}{{ c.a }}{% endmacro %}{{ m(context) }}",
            "{% macro m(c=context) %}{{ c.a }}{% endmacro %}{{ m() }}",
            "{{ [context] | map(attribute='a') | join }}",
            "{{ dict(x=context).x.a }}",
            "{{ dict(**context) }}",
            "{% set ns = namespace() %}{% set ns.c = context %}{{ ns.c.a }}",
            "{{ '%s' | format(context) }}",
            "{{ 'x' if context else context }}",
            "{{ {'a': context} }}",
            "{{ context[text] }}",
            "{{ context[:1] }}",
            "{% filter upper %}{{ context }}{% endfilter %}",
        ] {
            assert!(reads(template).contains("context.*"), "{template}: {}", reads(template));
        }
    }

    #[test]
    fn a_name_that_is_bound_on_one_way_only_is_still_the_outer_one() {
        let shadowed = "{% if text %}{% set context = {} %}{% endif %}{{ context.a }}";
        assert!(reads(shadowed).contains("context.a"), "{}", reads(shadowed));
        let looped = "{% for context in [] %}{% endfor %}{{ context }}";
        assert!(reads(looped).contains("context.*"));
    }

    #[test]
    fn what_is_printed_names_what_it_is_made_of_and_what_decided_it() {
        let template = "{% set x = context.a %}{% if context.b %}{{ x }}{% endif %}{{ text }}";
        let found = of_tree(&syntax::tree(template).unwrap(), &["text", "context"]);
        let [first, second] = found.prints.as_slice() else { panic!("{found:?}") };
        let field = |name: &str| Read::Context(name.to_owned());
        assert_eq!(first.1.roots, ["context"]);
        assert_eq!(first.1.reads, BTreeSet::from([field("a"), field("b")]));
        assert_eq!(second.1.reads, BTreeSet::from([Read::Input("text".to_owned())]));
        assert_eq!(found.control, BTreeSet::from([field("b")]));
    }
}
