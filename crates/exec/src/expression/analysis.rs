//! What an expression certainly does wrong with the names it will see, found without evaluating it.
//!
//! Invariants: the analysis reads a text as [`super::evaluate`] does, in the same order: a literal, then a name that is
//! the whole text, then an expression. It reports only what fails every time the expression is evaluated there; what it
//! does not know of a value is [`KnownValue::Any`] and is never reported.

use std::ops::Range;

use ruff_python_ast::{Expr, ExprCall, ExprDict, ExprSubscript, Operator};
use ruff_text_size::Ranged;
use stave_canon::{Object, Value};
use stave_diag::did_you_mean;

use super::{Datum, ExpressionError, FUNCTIONS, literal, parse};

/// What is known of a value before a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KnownValue {
    /// Its fields are these, and a dot reaches them.
    Arm(Object),
    Text,
    /// A plain value, but not a text.
    NotText,
    /// A plain value; a dot reaches nothing in it.
    Plain,
    Any,
}

impl KnownValue {
    pub(crate) fn of(datum: &Datum) -> KnownValue {
        match datum {
            Datum::Arm(fields) => KnownValue::Arm(fields.clone()),
            Datum::Plain(value) => of_plain(value),
        }
    }

    /// What is known of a value that is one or the other.
    pub(crate) fn or(self, other: KnownValue) -> KnownValue {
        match (self, other) {
            (left, right) if left == right => left,
            (KnownValue::Arm(_) | KnownValue::Any, _) | (_, KnownValue::Arm(_) | KnownValue::Any) => {
                KnownValue::Any
            }
            _ => KnownValue::Plain,
        }
    }

    /// The value as an argument: an arm is then a mapping like others.
    fn argument(self) -> KnownValue {
        match self {
            KnownValue::Arm(_) => KnownValue::NotText,
            KnownValue::Any => KnownValue::Plain,
            known => known,
        }
    }
}

fn of_plain(value: &Value) -> KnownValue {
    match value {
        Value::String(_) => KnownValue::Text,
        _ => KnownValue::NotText,
    }
}

/// The names that an expression may see, each with what is known of its value.
pub(crate) type KnownNames = indexmap::IndexMap<String, KnownValue>;

/// What fails, and where in the text it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExpressionFault {
    pub(crate) kind: ExpressionFaultKind,
    pub(crate) range: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpressionFaultKind {
    UnknownName,
    UnknownField,
    MappingKey,
}

/// Reads a text: what its value will be, and what certainly fails. Ranges are bytes of the text.
pub(crate) fn analyze(
    text: &str,
    names: &KnownNames,
) -> Result<(KnownValue, Vec<ExpressionFault>), ExpressionError> {
    let inner = text.trim();
    if let Some(value) = literal(inner) {
        return Ok((of_plain(&value), Vec::new()));
    }
    if let Some(known) = names.get(inner) {
        return Ok((known.clone(), Vec::new()));
    }
    let tree = parse::checked(inner)?;
    let leading = text.len() - text.trim_start().len();
    let mut analysis = Analysis { text: inner, names, leading, faults: Vec::new() };
    let known = analysis.value_of(&tree);
    Ok((known, analysis.faults))
}

struct Analysis<'a> {
    text: &'a str,
    names: &'a KnownNames,
    leading: usize,
    faults: Vec<ExpressionFault>,
}

impl Analysis<'_> {
    fn value_of(&mut self, tree: &Expr) -> KnownValue {
        match tree {
            Expr::StringLiteral(_) => KnownValue::Text,
            Expr::NoneLiteral(_) | Expr::BooleanLiteral(_) | Expr::NumberLiteral(_) => KnownValue::NotText,
            Expr::Name(name) => match self.names.get(name.id.as_str()) {
                Some(known) => known.clone(),
                None => {
                    self.unknown_name(name.id.as_str(), name.range.into());
                    KnownValue::Any
                }
            },
            Expr::BoolOp(operation) => self.any_of(&operation.values),
            Expr::UnaryOp(operation) => {
                self.value_of(&operation.operand);
                KnownValue::NotText
            }
            Expr::BinOp(operation) => {
                let left = self.value_of(&operation.left).argument();
                let right = self.value_of(&operation.right).argument();
                match (left, right) {
                    (KnownValue::NotText, KnownValue::NotText) => KnownValue::NotText,
                    (KnownValue::Text, _) | (_, KnownValue::Text)
                        if matches!(operation.op, Operator::Add | Operator::Mult) =>
                    {
                        KnownValue::Text
                    }
                    _ => KnownValue::Plain,
                }
            }
            Expr::Compare(comparison) => {
                self.value_of(&comparison.left);
                self.each(&comparison.comparators);
                KnownValue::NotText
            }
            Expr::If(choice) => {
                self.value_of(&choice.test);
                let then = self.value_of(&choice.body);
                then.or(self.value_of(&choice.orelse))
            }
            Expr::List(list) => self.each(&list.elts),
            Expr::Tuple(tuple) => self.each(&tuple.elts),
            Expr::Dict(dict) => self.mapping(dict),
            Expr::Attribute(attribute) => {
                let subject = self.value_of(&attribute.value);
                self.field(subject, attribute.attr.as_str(), attribute.attr.range.into())
            }
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::Call(call) => self.call(call),
            _ => KnownValue::Any,
        }
    }

    /// Parts of a list, whose values do not matter.
    fn each(&mut self, trees: &[Expr]) -> KnownValue {
        for tree in trees {
            self.value_of(tree);
        }
        KnownValue::NotText
    }

    fn any_of(&mut self, trees: &[Expr]) -> KnownValue {
        let known: Vec<KnownValue> = trees.iter().map(|tree| self.value_of(tree)).collect();
        known.into_iter().reduce(KnownValue::or).unwrap_or(KnownValue::Any)
    }

    fn mapping(&mut self, dict: &ExprDict) -> KnownValue {
        for item in &dict.items {
            if let Some(key) = &item.key {
                self.key(key);
            }
            self.value_of(&item.value);
        }
        KnownValue::NotText
    }

    /// A key is evaluated like every other expression, and must come out as a text.
    fn key(&mut self, key: &Expr) {
        if let Expr::Name(name) = key {
            let (id, range) = (name.id.as_str(), name.range.into());
            let message = match self.names.get(id) {
                Some(KnownValue::NotText | KnownValue::Arm(_)) => {
                    format!("the key `{id}` is the value of the variable `{id}`, which is not a text")
                }
                Some(_) => return,
                None => format!("the key `{id}` is a variable that nothing assigns, not the text \"{id}\""),
            };
            let help = format!(
                "write the key in quotes, `\"{id}\": …`; in `emit`, indented lines such as `{id}: …` below the \
                 field do the same"
            );
            self.push(ExpressionFaultKind::MappingKey, range, message, help);
            return;
        }
        if self.value_of(key).argument() == KnownValue::NotText {
            let range: Range<usize> = key.range().into();
            let written = self.text.get(range.clone()).unwrap_or_default();
            let message = format!("the key `{written}` is not a text");
            self.push(ExpressionFaultKind::MappingKey, range, message, "write the key in quotes".to_owned());
        }
    }

    fn field(&mut self, subject: KnownValue, name: &str, range: Range<usize>) -> KnownValue {
        match subject {
            KnownValue::Arm(mut fields) => match fields.shift_remove(name) {
                Some(Value::Object(inner)) => KnownValue::Arm(inner),
                Some(value) => of_plain(&value),
                None => {
                    let near = did_you_mean(name, fields.keys().map(String::as_str));
                    let help = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => match super::walk::names(&fields).as_str() {
                            "nothing" => "give the arm that is active this field".to_owned(),
                            known => format!("there is {known}"),
                        },
                    };
                    let message = format!("there is no field `{name}` here");
                    self.push(ExpressionFaultKind::UnknownField, range, message, help);
                    KnownValue::Any
                }
            },
            KnownValue::Any => KnownValue::Any,
            KnownValue::Text | KnownValue::NotText | KnownValue::Plain => {
                let message = format!("a dot reaches no `{name}` here; only arms have fields");
                let help = format!("use brackets for values: `[\"{name}\"]`");
                self.push(ExpressionFaultKind::UnknownField, range, message, help);
                KnownValue::Any
            }
        }
    }

    fn subscript(&mut self, subscript: &ExprSubscript) -> KnownValue {
        let subject = self.value_of(&subscript.value);
        match &*subscript.slice {
            Expr::Slice(slice) => {
                for bound in [&slice.lower, &slice.upper].into_iter().flatten() {
                    self.value_of(bound);
                }
            }
            index => {
                self.value_of(index);
            }
        }
        match subject {
            KnownValue::Arm(_) => {
                let message = "the fields of an arm are reached with a dot, not with brackets".to_owned();
                let range = subscript.slice.range().into();
                let help = "write `arms.active.name`".to_owned();
                self.push(ExpressionFaultKind::UnknownField, range, message, help);
                KnownValue::Any
            }
            KnownValue::Text => KnownValue::Text,
            _ => KnownValue::Plain,
        }
    }

    fn call(&mut self, call: &ExprCall) -> KnownValue {
        let subject = match &*call.func {
            Expr::Attribute(attribute) => {
                self.value_of(&attribute.value);
                attribute.attr.as_str()
            }
            Expr::Name(name) => name.id.as_str(),
            _ => return KnownValue::Any,
        };
        self.each(&call.arguments.args);
        match subject {
            "lower" | "upper" | "strip" => KnownValue::Text,
            "coalesce" | "random" | "min" | "max" | "get" => KnownValue::Plain,
            _ => KnownValue::NotText,
        }
    }

    fn unknown_name(&mut self, name: &str, range: Range<usize>) {
        let near = did_you_mean(name, self.names.keys().map(String::as_str));
        let help = match (name, near) {
            ("true", _) => "write `True`".to_owned(),
            ("false", _) => "write `False`".to_owned(),
            ("null", _) => "write `None`".to_owned(),
            (_, _) if FUNCTIONS.contains(&name) => format!("`{name}` is a function: call it"),
            (_, Some(near)) => format!("did you mean `{near}`?"),
            (_, None) => {
                format!(
                    "assign it in a statement before this one, or write \"{name}\" in quotes if it is a text"
                )
            }
        };
        self.push(
            ExpressionFaultKind::UnknownName,
            range,
            format!("nothing assigns `{name}` before this"),
            help,
        );
    }

    fn push(&mut self, kind: ExpressionFaultKind, range: Range<usize>, message: String, help: String) {
        let range = range.start + self.leading..range.end + self.leading;
        self.faults.push(ExpressionFault { kind, range, message, help });
    }
}
