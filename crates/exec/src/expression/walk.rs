//! A syntax tree to its value.

use ruff_python_ast::{BoolOp, Expr, ExprCall, ExprSubscript, UnaryOp};
use stave_canon::{Number, Object, Value};

use super::literal::{negative, number};
use super::parse::unavailable;
use super::{Datum, MAX_WEIGHT, Random, Scope, functions, is_true, methods, operators, weight};

pub(super) struct Walk<'w> {
    pub(super) scope: &'w Scope,
    pub(super) random: &'w mut dyn Random,
}

type Result<T> = std::result::Result<T, String>;

impl Walk<'_> {
    pub(super) fn evaluate(&mut self, tree: &Expr) -> Result<Datum> {
        match tree {
            Expr::NoneLiteral(_) => Ok(Datum::Plain(Value::Null)),
            Expr::BooleanLiteral(boolean) => Ok(Datum::Plain(boolean.value.into())),
            Expr::StringLiteral(text) => Ok(Datum::Plain(text.value.to_str().into())),
            Expr::NumberLiteral(literal) => {
                let number = number(&literal.value).ok_or("complex numbers are not available here")?;
                Ok(Datum::Plain(Value::Number(number)))
            }
            Expr::Name(name) => {
                let name = name.id.as_str();
                self.scope.get(name).cloned().ok_or_else(|| format!("`{name}` is not defined"))
            }
            Expr::BoolOp(operation) => self.boolean(operation.op, &operation.values),
            Expr::UnaryOp(operation) => {
                let operand = self.evaluate(&operation.operand)?;
                self.unary(operation.op, operand)
            }
            Expr::BinOp(operation) => {
                let left = self.value(&operation.left)?;
                let right = self.value(&operation.right)?;
                bounded(operators::binary(&left, operation.op, &right)?)
            }
            Expr::Compare(comparison) => {
                let mut left = self.value(&comparison.left)?;
                for (operator, right) in comparison.ops.iter().zip(&comparison.comparators) {
                    let right = self.value(right)?;
                    if !operators::compare(&left, *operator, &right)? {
                        return Ok(Datum::Plain(false.into()));
                    }
                    left = right;
                }
                Ok(Datum::Plain(true.into()))
            }
            Expr::If(choice) => {
                let test = self.evaluate(&choice.test)?;
                self.evaluate(if is_true(&test) { &choice.body } else { &choice.orelse })
            }
            Expr::List(list) => self.values(&list.elts).and_then(|items| bounded(Value::Array(items))),
            Expr::Tuple(tuple) => self.values(&tuple.elts).and_then(|items| bounded(Value::Array(items))),
            Expr::Dict(dict) => {
                let mut object = Object::new();
                for item in &dict.items {
                    let key = self.value(item.key.as_ref().ok_or("`**` is not available here")?)?;
                    let Value::String(key) = key else {
                        return Err(format!("a key is {}, not a text", key.kind()));
                    };
                    object.insert(key, self.value(&item.value)?);
                }
                bounded(Value::Object(object))
            }
            Expr::Attribute(attribute) => {
                let name = attribute.attr.as_str();
                match self.evaluate(&attribute.value)? {
                    Datum::Arm(fields) => match fields.get(name) {
                        Some(Value::Object(inner)) => Ok(Datum::Arm(inner.clone())),
                        Some(value) => Ok(Datum::Plain(value.clone())),
                        None => Err(format!("there is no `{name}` among {}", names(&fields))),
                    },
                    Datum::Plain(value) => Err(format!("{} has no `.{name}`; use brackets", value.kind())),
                }
            }
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::Call(call) => self.call(call),
            other => Err(unavailable(other).to_owned()),
        }
    }

    fn value(&mut self, tree: &Expr) -> Result<Value> {
        self.evaluate(tree).map(Datum::into_value)
    }

    fn values(&mut self, trees: &[Expr]) -> Result<Vec<Value>> {
        trees.iter().map(|tree| self.value(tree)).collect()
    }

    /// `and` and `or` give the operand that decides, as Python does.
    fn boolean(&mut self, operator: BoolOp, operands: &[Expr]) -> Result<Datum> {
        let mut last = Datum::Plain(Value::Null);
        for operand in operands {
            last = self.evaluate(operand)?;
            if is_true(&last) == (operator == BoolOp::Or) {
                break;
            }
        }
        Ok(last)
    }

    fn unary(&mut self, operator: UnaryOp, operand: Datum) -> Result<Datum> {
        let operand = match operand {
            // A boolean with a sign is a number.
            Datum::Plain(Value::Bool(flag)) if operator != UnaryOp::Not => {
                Datum::Plain(i64::from(flag).into())
            }
            other => other,
        };
        let value = match (operator, operand) {
            (UnaryOp::Not, operand) => Value::Bool(!is_true(&operand)),
            (UnaryOp::UAdd, Datum::Plain(Value::Number(number))) => Value::Number(number),
            (UnaryOp::USub, Datum::Plain(Value::Number(number))) => {
                Value::Number(negative(&number).ok_or("the number is out of range")?)
            }
            (UnaryOp::Invert, Datum::Plain(Value::Number(Number::Int(integer)))) => Value::from(!integer),
            (_, operand) => return Err(format!("{} has no sign", operand.into_value().kind())),
        };
        Ok(Datum::Plain(value))
    }

    fn subscript(&mut self, subscript: &ExprSubscript) -> Result<Datum> {
        let value = match self.evaluate(&subscript.value)? {
            Datum::Plain(value) => value,
            Datum::Arm(_) => return Err("the fields of an arm are reached with a dot".to_owned()),
        };
        if let Expr::Slice(slice) = &*subscript.slice {
            if slice.step.is_some() {
                return Err("a slice with a step is not available here".to_owned());
            }
            let lower = slice.lower.as_deref().map(|bound| self.value(bound)).transpose()?;
            let upper = slice.upper.as_deref().map(|bound| self.value(bound)).transpose()?;
            return operators::slice(&value, lower.as_ref(), upper.as_ref()).map(Datum::Plain);
        }
        let index = self.value(&subscript.slice)?;
        operators::index(&value, &index).map(Datum::Plain)
    }

    fn call(&mut self, call: &ExprCall) -> Result<Datum> {
        if !call.arguments.keywords.is_empty() {
            return Err("arguments by name are not available here".to_owned());
        }
        match &*call.func {
            Expr::Name(name) => {
                let name = name.id.as_str();
                functions::known(name)?;
                let arguments = self.values(&call.arguments.args)?;
                bounded(functions::call(name, &arguments, self.random)?)
            }
            Expr::Attribute(attribute) => {
                let subject = self.value(&attribute.value)?;
                let arguments = self.values(&call.arguments.args)?;
                bounded(methods::call(&subject, attribute.attr.as_str(), &arguments)?)
            }
            _ => Err("only functions by name can be called here".to_owned()),
        }
    }
}

fn bounded(value: Value) -> Result<Datum> {
    if weight(&value) > MAX_WEIGHT {
        return Err("the value is too large".to_owned());
    }
    Ok(Datum::Plain(value))
}

pub(super) fn names(fields: &Object) -> String {
    let names: Vec<String> = fields.keys().take(10).map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
