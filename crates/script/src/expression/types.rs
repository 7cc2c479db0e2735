//! The kind of value an expression gives, as far as its text tells.

use ruff_python_ast::{Expr, ExprCall, Operator, UnaryOp};

use super::ExpressionType;

pub(super) fn of(expr: &Expr) -> ExpressionType {
    match expr {
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
