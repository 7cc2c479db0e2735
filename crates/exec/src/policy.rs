//! Applying a baked policy: what it decides for the values of one step.
//!
//! The policy is the data under `constants.policy`, as [`crate::wdl`] bakes it. Invariant: applying reads
//! the policy and the values, draws random numbers from the port it is given, and touches nothing else.

use stave_canon::{Object, Value};

use crate::expression::{
    Datum, ExpressionError, KnownNames, KnownValue, Random, Scope, evaluate, is_true, literal,
};

/// How deep statements may be nested.
const MAX_DEPTH: usize = 64;

/// Why a policy gives no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("the baked policy is malformed: {0}")]
    Malformed(&'static str),
    #[error("line {line}: {error}")]
    Statement { line: i64, error: ExpressionError },
    #[error("line {line}: {reason}")]
    Choose { line: i64, reason: String },
    #[error("`emit`: {0}")]
    Emit(ExpressionError),
    #[error("`epsilon` is {0:?}, not a number")]
    Epsilon(String),
}

/// Applies the policy under `constants.policy` to `values`. An `epsilon` that is given takes the place of
/// the policy's own.
pub fn apply(
    policy: &Object,
    values: &Value,
    epsilon: Option<f64>,
    random: &mut dyn Random,
) -> Result<Object, PolicyError> {
    let params = params(policy)?;
    let scope = first_scope(params, values.clone(), epsilon)?;
    let statements = params.get("evaluate").and_then(Value::as_array);
    let statements = statements.ok_or(PolicyError::Malformed("`evaluate` is not a list"))?;
    let mut run = Run { scope, random };
    run.block(statements, 0)?;
    let emit = params.get("emit").and_then(Value::as_object);
    let emit = emit.ok_or(PolicyError::Malformed("`emit` is not an object"))?;
    let mut decided = Object::with_capacity(emit.len());
    for (name, value) in emit {
        decided.insert(name.clone(), run.emit(value)?);
    }
    Ok(decided)
}

fn params(policy: &Object) -> Result<&Object, PolicyError> {
    let params = policy.get("policy").and_then(|policy| policy.get("params"));
    params.and_then(Value::as_object).ok_or(PolicyError::Malformed("`policy.params` is not an object"))
}

/// The names that the first statement sees.
fn first_scope(params: &Object, values: Value, epsilon: Option<f64>) -> Result<Scope, PolicyError> {
    let epsilon = match epsilon {
        Some(epsilon) => Value::from(epsilon),
        None => own_epsilon(params)?,
    };
    let arms: Object = [("active".to_owned(), Value::Object(active_arm(params)?))].into_iter().collect();
    Ok(Scope::from_iter([
        ("values".to_owned(), Datum::Plain(values)),
        ("epsilon".to_owned(), Datum::Plain(epsilon)),
        ("arms".to_owned(), Datum::Arm(arms)),
    ]))
}

/// What is known before a run of the names that the first statement sees: the same names that [`apply`] gives it.
pub(crate) fn known_names(policy: &Object) -> Result<KnownNames, PolicyError> {
    let scope = first_scope(params(policy)?, Value::Object(Object::new()), Some(0.0))?;
    Ok(scope.iter().map(|(name, datum)| (name.clone(), KnownValue::of(datum))).collect())
}

/// `target = value` or `target := value`, split where an option assigns.
fn assigned(text: &str) -> Option<(&str, &str)> {
    let (target, value) = text.split_once(":=").or_else(|| text.split_once('='))?;
    Some((target.trim(), value.trim()))
}

/// The arm called `default`, else the first one, its texts read as literals where they are some.
fn active_arm(params: &Object) -> Result<Object, PolicyError> {
    let arms = params
        .get("arms")
        .and_then(Value::as_object)
        .ok_or(PolicyError::Malformed("`arms` is not an object"))?;
    let Some(arm) = arms.get("default").or_else(|| arms.values().next()) else { return Ok(Object::new()) };
    match read(arm) {
        Value::Object(arm) => Ok(arm),
        _ => Err(PolicyError::Malformed("an arm is not an object")),
    }
}

fn read(value: &Value) -> Value {
    match value {
        Value::String(text) => literal(text).unwrap_or_else(|| value.clone()),
        Value::Array(items) => Value::Array(items.iter().map(read).collect()),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), read(value))).collect())
        }
        other => other.clone(),
    }
}

fn own_epsilon(params: &Object) -> Result<Value, PolicyError> {
    match params.get("epsilon") {
        None | Some(Value::Null) => Ok(Value::Null),
        Some(Value::String(text)) => match literal(text) {
            Some(value @ Value::Number(_)) => Ok(value),
            _ => Err(PolicyError::Epsilon(text.clone())),
        },
        Some(value @ Value::Number(_)) => Ok(value.clone()),
        Some(_) => Err(PolicyError::Malformed("`epsilon` is not a text")),
    }
}

struct Run<'r> {
    scope: Scope,
    random: &'r mut dyn Random,
}

impl Run<'_> {
    fn block(&mut self, statements: &[Value], depth: usize) -> Result<(), PolicyError> {
        if depth > MAX_DEPTH {
            return Err(PolicyError::Malformed("statements are nested too deeply"));
        }
        for statement in statements {
            match text(statement, "type")? {
                "assignment" => self.assign(statement)?,
                "if" => {
                    let condition = self.evaluate(statement, text(statement, "condition")?)?;
                    let branch = if is_true(&condition) { "then" } else { "else" };
                    match statement.get(branch) {
                        Some(Value::Array(statements)) => self.block(statements, depth + 1)?,
                        None | Some(Value::Null) => {}
                        Some(_) => return Err(PolicyError::Malformed("a branch is not a list")),
                    }
                }
                "choose" => self.choose(statement)?,
                _ => return Err(PolicyError::Malformed("a statement has an unknown `type`")),
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, place: &Value, text: &str) -> Result<Datum, PolicyError> {
        evaluate(text, &self.scope, self.random)
            .map_err(|error| PolicyError::Statement { line: line(place), error })
    }

    fn assign(&mut self, statement: &Value) -> Result<(), PolicyError> {
        let value = self.evaluate(statement, text(statement, "expression")?)?;
        self.scope.insert(text(statement, "target")?.to_owned(), value);
        Ok(())
    }

    /// Takes the first option whose probability wins, else the first option.
    fn choose(&mut self, statement: &Value) -> Result<(), PolicyError> {
        let options = statement.get("options").and_then(Value::as_array);
        let options = options.ok_or(PolicyError::Malformed("`options` is not a list"))?;
        let mut taken = None;
        for option in options {
            if self.wins(option)? {
                taken = Some(option);
                break;
            }
        }
        let Some(option) = taken.or_else(|| options.first()) else { return Ok(()) };
        let fail = |reason: String| PolicyError::Choose { line: line(option), reason };
        let texts = options.iter().filter_map(|option| option.get("expression")?.as_str());
        let (target, expression) = assigned_by(text(option, "expression")?, texts);
        if let Some(target) = target.filter(|target| !is_name(target)) {
            return Err(fail(format!("`{target}` is not a name that something can be assigned to")));
        }
        let value = self.evaluate(option, expression)?;
        // An option may be computed for nothing when no option says what it is assigned to.
        if let Some(target) = target {
            self.scope.insert(target.to_owned(), value);
        }
        Ok(())
    }

    fn wins(&mut self, option: &Value) -> Result<bool, PolicyError> {
        let probability = match option.get("probability") {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::String(text)) => self.evaluate(option, text)?.into_value(),
            Some(_) => return Err(PolicyError::Malformed("a probability is not a text")),
        };
        let fail = |reason: &str| PolicyError::Choose { line: line(option), reason: reason.to_owned() };
        let probability = probability.as_f64().ok_or_else(|| fail("the probability is not a number"))?;
        let draw = self.random.next().ok_or_else(|| fail("there are no random numbers left"))?;
        Ok(draw < probability.clamp(0.0, 1.0))
    }

    fn emit(&mut self, value: &Value) -> Result<Value, PolicyError> {
        Ok(match value {
            Value::String(text) => {
                evaluate(text, &self.scope, self.random).map_err(PolicyError::Emit)?.into_value()
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.emit(item)).collect::<Result<_, PolicyError>>()?)
            }
            Value::Object(object) => {
                let mut emitted = Object::with_capacity(object.len());
                for (key, value) in object {
                    emitted.insert(key.clone(), self.emit(value)?);
                }
                Value::Object(emitted)
            }
            other => other.clone(),
        })
    }
}

/// What an option assigns, and to what: to the target that it names, else to the first that any option names.
pub(crate) fn assigned_by<'t>(
    option: &'t str,
    mut options: impl Iterator<Item = &'t str>,
) -> (Option<&'t str>, &'t str) {
    match assigned(option) {
        Some((target, value)) => (Some(target), value),
        None => (options.find_map(assigned).map(|(target, _)| target), option),
    }
}

fn text<'v>(value: &'v Value, key: &'static str) -> Result<&'v str, PolicyError> {
    value.get(key).and_then(Value::as_str).ok_or(PolicyError::Malformed("a statement lacks a text"))
}

fn line(value: &Value) -> i64 {
    value.get("line").and_then(Value::as_i64).unwrap_or(0)
}

pub(crate) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || character == '_')
}
