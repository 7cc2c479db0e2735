//! The kind of value an expression gives, as far as its text shows.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{CmpOp, Expr, ExprCall, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::ExpressionType;

/// The types of the names that are bound where an expression is.
pub(super) type Known<'k> = [(&'k str, ExpressionType)];

pub(super) fn of(expr: &Expr, known: &Known<'_>) -> ExpressionType {
    let of = |expr: &Expr| of(expr, known);
    match expr {
        Expr::Name(name) => {
            let found = known.iter().find(|(known, _)| *known == name.id.as_str());
            found.map_or(ExpressionType::Unknown, |(_, known)| *known)
        }
        Expr::NoneLiteral(_) => ExpressionType::Null,
        Expr::BooleanLiteral(_) | Expr::Compare(_) => ExpressionType::Boolean,
        Expr::NumberLiteral(_) => ExpressionType::Number,
        Expr::StringLiteral(_) | Expr::FString(_) => ExpressionType::String,
        Expr::List(_) | Expr::Tuple(_) | Expr::ListComp(_) => ExpressionType::Array,
        Expr::Dict(_) | Expr::DictComp(_) => ExpressionType::Object,
        Expr::UnaryOp(unary) => match unary.op {
            UnaryOp::Not => ExpressionType::Boolean,
            UnaryOp::Invert | UnaryOp::UAdd | UnaryOp::USub => ExpressionType::Number,
        },
        Expr::BoolOp(operation) => common(operation.values.iter().map(of)),
        Expr::If(choice) => common([of(&choice.body), of(&choice.orelse)]),
        Expr::BinOp(binary) => arithmetic(of(&binary.left), binary.op, of(&binary.right)),
        Expr::Call(call) => returned(call),
        _ => ExpressionType::Unknown,
    }
}

/// The one type all of them have, else unknown.
fn common(types: impl IntoIterator<Item = ExpressionType>) -> ExpressionType {
    let mut types = types.into_iter();
    let first = types.next().unwrap_or_default();
    if types.all(|other| other == first) { first } else { ExpressionType::Unknown }
}

fn arithmetic(left: ExpressionType, op: Operator, right: ExpressionType) -> ExpressionType {
    use ExpressionType::{Array, Number, String, Unknown};
    match (left, op, right) {
        (_, Operator::Sub | Operator::Div | Operator::FloorDiv | Operator::Pow, _) => Number,
        (Number, Operator::Add | Operator::Mult | Operator::Mod, Number) => Number,
        (String, Operator::Add | Operator::Mod, _) | (_, Operator::Add, String) => String,
        (String, Operator::Mult, _) | (_, Operator::Mult, String) => String,
        (Array, Operator::Add | Operator::Mult, _) | (_, Operator::Add | Operator::Mult, Array) => Array,
        _ => Unknown,
    }
}

fn returned(call: &ExprCall) -> ExpressionType {
    match &*call.func {
        Expr::Name(name) => match name.id.as_str() {
            "all" | "any" | "bool" | "isinstance" => ExpressionType::Boolean,
            "abs" | "float" | "int" | "len" | "ord" | "round" => ExpressionType::Number,
            "chr" | "str" => ExpressionType::String,
            "divmod" | "list" | "sorted" | "tuple" => ExpressionType::Array,
            "dict" => ExpressionType::Object,
            _ => ExpressionType::Unknown,
        },
        Expr::Attribute(attribute) => match attribute.attr.as_str() {
            "endswith" | "is_integer" | "isalnum" | "isalpha" | "isascii" | "isdecimal" | "isdigit"
            | "islower" | "isnumeric" | "isspace" | "istitle" | "isupper" | "startswith" => {
                ExpressionType::Boolean
            }
            "count" | "find" | "index" | "rfind" | "rindex" => ExpressionType::Number,
            "capitalize" | "casefold" | "center" | "join" | "ljust" | "lower" | "lstrip" | "removeprefix"
            | "removesuffix" | "replace" | "rjust" | "rstrip" | "strip" | "swapcase" | "title" | "upper"
            | "zfill" => ExpressionType::String,
            "partition" | "rpartition" | "rsplit" | "split" | "splitlines" => ExpressionType::Array,
            _ => ExpressionType::Unknown,
        },
        _ => ExpressionType::Unknown,
    }
}

/// A comparison whose two sides cannot be compared.
pub(super) struct Mismatch {
    pub(super) range: TextRange,
    pub(super) message: String,
}

/// The comparisons that fail or decide nothing whatever the values are, outside comprehensions, whose names
/// are their own.
pub(super) fn mismatches(expr: &Expr, known: &Known<'_>) -> Vec<Mismatch> {
    let mut finder = Finder { known, found: Vec::new() };
    finder.visit_expr(expr);
    finder.found
}

struct Finder<'k> {
    known: &'k Known<'k>,
    found: Vec<Mismatch>,
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if matches!(
            expr,
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) | Expr::Lambda(_)
        ) {
            return;
        }
        if let Expr::Compare(compare) = expr {
            let mut left = &*compare.left;
            for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                if let Some(message) = fault(of(left, self.known), *op, of(right, self.known)) {
                    let range = TextRange::new(left.start(), right.end());
                    self.found.push(Mismatch { range, message });
                }
                left = right;
            }
        }
        walk_expr(self, expr);
    }
}

fn fault(left: ExpressionType, op: CmpOp, right: ExpressionType) -> Option<String> {
    use ExpressionType::{Array, Boolean, Null, Number, String, Unknown};
    if left == Unknown || right == Unknown {
        return None;
    }
    let numeric = |one: ExpressionType| matches!(one, Number | Boolean);
    let with_article =
        |word: &str| format!("{} {word}", if word.starts_with(['a', 'o']) { "an" } else { "a" });
    let (one, other) = (with_article(left.word()), with_article(right.word()));
    match op {
        CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE => {
            let ordered = (numeric(left) && numeric(right))
                || matches!((left, right), (String, String) | (Array, Array));
            (!ordered).then(|| format!("{one} and {other} have no order, so the comparison fails"))
        }
        CmpOp::Eq | CmpOp::NotEq => {
            let alike = left == right || (numeric(left) && numeric(right)) || left == Null || right == Null;
            (!alike).then(|| format!("{one} is never equal to {other}"))
        }
        CmpOp::In | CmpOp::NotIn => match right {
            Number | Boolean | Null => Some(format!("nothing is in {other}, so the test fails")),
            String if left != String => Some(format!("{one} cannot be in a string, so the test fails")),
            _ => None,
        },
        CmpOp::Is | CmpOp::IsNot => None,
    }
}
