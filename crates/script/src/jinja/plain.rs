//! Templates that may be rendered in the calling process, because their text alone bounds what they cost.
//!
//! A template is plain when every construct is on this list: text, printed paths, conditions on paths, loops
//! over paths, `set` of a path, and a few filters whose result is at most a small multiple of their input.
//! No construct on the list builds a value out of two others, repeats a value or calls anything, so each step
//! costs at most a small multiple of the size of the context. Fuel bounds the steps, see
//! [`super::in_process`].
//!
//! Invariant: this is an allow-list. A construct, filter or test that is not named here is not plain, and the
//! template is rendered in a worker process.

use minijinja::machinery::ast;

/// What a plain template uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plain {
    /// Paths only: each printed value is a part of the context.
    Paths,
    /// Also filters, each of which copies its input.
    Filters,
}

/// The most filters that one expression applies one after the other.
const MAX_FILTERS: usize = 3;
/// The longest separator of `join`: an item and its comma have at least two bytes in the context.
const MAX_SEPARATOR: usize = 16;
/// The most digits that `round` keeps.
const MAX_DIGITS: i64 = 15;

/// Filters without arguments whose result is no longer than a small multiple of their input.
const COPYING: &[&str] = &[
    "bool",
    "capitalize",
    "count",
    "first",
    "float",
    "int",
    "last",
    "length",
    "lower",
    "safe",
    "string",
    "title",
    "trim",
    "upper",
];
/// Filters that may give several bytes for one; only one of them may be in a row of filters, because a
/// second one multiplies the result of the first.
const EXPANDING: &[&str] = &["e", "escape", "tojson"];
/// Tests without arguments.
const TESTS: &[&str] = &[
    "boolean",
    "defined",
    "false",
    "float",
    "integer",
    "iterable",
    "mapping",
    "none",
    "number",
    "sequence",
    "string",
    "true",
    "undefined",
];

/// How a template may be rendered in this process; `None` when it must not be.
pub(super) fn plain(tree: &ast::Stmt<'_>) -> Option<Plain> {
    let mut walk = Walk { filters: false };
    walk.stmt(tree)?;
    Some(if walk.filters { Plain::Filters } else { Plain::Paths })
}

struct Walk {
    filters: bool,
}

/// The filters that an expression has applied to its value so far.
#[derive(Debug, Clone, Copy, Default)]
struct Applied {
    filters: usize,
    expanding: usize,
}

impl Applied {
    fn larger(self, other: Applied) -> Applied {
        Applied { filters: self.filters.max(other.filters), expanding: self.expanding.max(other.expanding) }
    }
}

impl Walk {
    fn body(&mut self, body: &[ast::Stmt<'_>]) -> Option<()> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &ast::Stmt<'_>) -> Option<()> {
        match stmt {
            ast::Stmt::Template(template) => self.body(&template.children),
            ast::Stmt::EmitRaw(_) | ast::Stmt::Continue(_) | ast::Stmt::Break(_) => Some(()),
            ast::Stmt::EmitExpr(emit) => self.expr(&emit.expr).map(|_| ()),
            ast::Stmt::IfCond(choice) => {
                self.expr(&choice.expr)?;
                self.body(&choice.true_body)?;
                self.body(&choice.false_body)
            }
            ast::Stmt::ForLoop(each) => {
                // A value that a loop or `set` binds must be a part of the context, never a copy that the next
                // statement could copy again.
                if each.recursive {
                    return None;
                }
                path(&each.iter)?;
                target(&each.target)?;
                if let Some(condition) = &each.filter_expr {
                    self.expr(condition)?;
                }
                self.body(&each.body)?;
                self.body(&each.else_body)
            }
            ast::Stmt::Set(set) => {
                part(&set.expr)?;
                target(&set.target)
            }
            _ => None,
        }
    }

    /// An expression whose value is printed or tested and then gone.
    fn expr(&mut self, expr: &ast::Expr<'_>) -> Option<Applied> {
        match expr {
            ast::Expr::Const(_) => Some(Applied::default()),
            ast::Expr::Var(_) | ast::Expr::GetAttr(_) | ast::Expr::GetItem(_) => {
                path(expr).map(|()| Applied::default())
            }
            ast::Expr::UnaryOp(unary) => self.expr(&unary.expr),
            ast::Expr::BinOp(binary) => match binary.op {
                ast::BinOpKind::ScAnd
                | ast::BinOpKind::ScOr
                | ast::BinOpKind::Eq
                | ast::BinOpKind::Ne
                | ast::BinOpKind::Lt
                | ast::BinOpKind::Lte
                | ast::BinOpKind::Gt
                | ast::BinOpKind::Gte
                | ast::BinOpKind::In => Some(self.expr(&binary.left)?.larger(self.expr(&binary.right)?)),
                _ => None,
            },
            ast::Expr::Compare(compare) => {
                let mut applied = self.expr(&compare.expr)?;
                for operand in &compare.ops {
                    applied = applied.larger(self.expr(&operand.expr)?);
                }
                Some(applied)
            }
            ast::Expr::IfExpr(choice) => {
                let mut applied = self.expr(&choice.test_expr)?.larger(self.expr(&choice.true_expr)?);
                if let Some(otherwise) = &choice.false_expr {
                    applied = applied.larger(self.expr(otherwise)?);
                }
                Some(applied)
            }
            ast::Expr::Test(test) if TESTS.contains(&test.name) && test.args.is_empty() => {
                self.expr(&test.expr)
            }
            ast::Expr::Filter(filter) => self.filter(filter),
            _ => None,
        }
    }

    fn filter(&mut self, filter: &ast::Filter<'_>) -> Option<Applied> {
        let mut applied = self.expr(filter.expr.as_ref()?)?;
        let expanding = match filter.name {
            "default" | "d" => {
                for argument in &filter.args {
                    let ast::CallArg::Pos(value) = argument else { return None };
                    part(value)?;
                }
                false
            }
            "join" => match filter.args.as_slice() {
                [] => true,
                [ast::CallArg::Pos(ast::Expr::Const(separator))] => {
                    if separator.value.as_str()?.len() > MAX_SEPARATOR {
                        return None;
                    }
                    true
                }
                _ => return None,
            },
            "round" => match filter.args.as_slice() {
                [] => false,
                [ast::CallArg::Pos(ast::Expr::Const(digits))] => {
                    let digits = i64::try_from(digits.value.clone()).ok()?;
                    if !(0..=MAX_DIGITS).contains(&digits) {
                        return None;
                    }
                    false
                }
                _ => return None,
            },
            name if filter.args.is_empty() && COPYING.contains(&name) => false,
            name if filter.args.is_empty() && EXPANDING.contains(&name) => true,
            _ => return None,
        };
        self.filters = true;
        applied.filters += 1;
        applied.expanding += usize::from(expanding);
        (applied.filters <= MAX_FILTERS && applied.expanding <= 1).then_some(applied)
    }
}

/// A part of the context, or a constant of the template.
fn part(expr: &ast::Expr<'_>) -> Option<()> {
    match expr {
        ast::Expr::Const(_) => Some(()),
        _ => path(expr),
    }
}

/// A path from a name: `a.b['c'][d]`.
fn path(expr: &ast::Expr<'_>) -> Option<()> {
    let mut here = expr;
    loop {
        match here {
            ast::Expr::Var(_) => return Some(()),
            ast::Expr::GetAttr(step) => here = &step.expr,
            ast::Expr::GetItem(step) => {
                match &step.subscript_expr {
                    ast::Expr::Const(_) | ast::Expr::Var(_) => {}
                    _ => return None,
                }
                here = &step.expr;
            }
            _ => return None,
        }
    }
}

fn target(target: &ast::Expr<'_>) -> Option<()> {
    match target {
        ast::Expr::Var(_) => Some(()),
        ast::Expr::List(list) => list.items.iter().try_for_each(self::target),
        ast::Expr::Tuple(tuple) => tuple.items.iter().try_for_each(self::target),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(template: &str) -> Option<Plain> {
        plain(&crate::jinja::syntax::tree(template).unwrap())
    }

    #[test]
    fn what_prompts_are_usually_made_of_is_plain() {
        for template in [
            "Hello",
            "{{ q }}",
            "{{ customer.orders[0]['id'] }}",
            "{% if q and not context.beta %}a{% elif n > 3 %}b{% else %}c{% endif %}",
            "{% for m in history if m.role != 'system' %}{{ loop.index }} {{ m.text }}{% else %}-{% endfor %}",
            "{% for key, value in facts %}{{ key }}{% endfor %}{% set x = q.a %}{{ x }}",
        ] {
            assert_eq!(of(template), Some(Plain::Paths), "{template}");
        }
        for template in [
            "{{ q | trim | upper }}",
            "{{ rows | tojson }}",
            "{{ name | default('guest') }}",
            "{{ tags | join(', ') }}",
            "{{ price | round(2) }}",
            "{% if rows | length > 3 %}many{% endif %}",
        ] {
            assert_eq!(of(template), Some(Plain::Filters), "{template}");
        }
    }

    #[test]
    fn what_can_multiply_is_not_plain() {
        for template in [
            "{{ q * 9 }}",
            "{{ q + q }}",
            "{{ q ~ q }}",
            "{{ 10 ** 9 }}",
            "{{ [q, q] }}",
            "{{ {'a': q} }}",
            "{{ q[::-1] }}",
            "{{ q | indent(9) }}",
            "{{ q | replace('a', 'bb') }}",
            "{{ q | tojson | tojson }}",
            "{{ q | tojson(indent=9) }}",
            "{{ q | e | tojson }}",
            "{{ q | upper | lower | upper | lower }}",
            "{{ q | join('a long separator indeed') }}",
            "{{ q | join(q) }}",
            "{{ q | round(999) }}",
            "{{ q | default([q, q]) }}",
            "{% set q = q | tojson %}",
            "{% set q %}{{ q }}{{ q }}{% endset %}",
            "{% for x in q | list %}{% endfor %}",
            "{% for x in range(9) %}{% endfor %}",
            "{% for x in q recursive %}{% endfor %}",
            "{{ q.center(9) }}",
            "{{ loop.cycle(1) }}",
            "{% macro m() %}{% endmacro %}",
            "{% filter upper %}{{ q }}{% endfilter %}",
            "{% with x = q %}{% endwith %}",
            "{{ q is divisibleby(3) }}",
            "{{ q[q * 9] }}",
        ] {
            assert_eq!(of(template), None, "{template}");
        }
    }
}
