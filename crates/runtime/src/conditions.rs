//! Everyday conditions, decided without the sandbox.
//!
//! A condition is Python, and the sandbox is a process away. Comparisons of values with values, joined by
//! `and`, `or` and `not`, are decided here. Invariant: the answer is the one that Python gives. Whatever is
//! not certain to be the same, also everything that Python would raise, is left to Python.

use std::cmp::Ordering;

use stave_canon::{Number, Value};

/// How deep parentheses and `not` may nest before the condition is left to Python.
const DEEPEST: usize = 32;

/// Integers up to here are the same as doubles.
const EXACT: i64 = 1 << 53;

/// A condition that can be decided here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    Or(Vec<Condition>),
    And(Vec<Condition>),
    Not(Box<Condition>),
    Compare(Operand, Comparison, Operand),
    /// A value that must be a boolean.
    Flag(Operand),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Literal(Value),
    /// A name, then keys and positions.
    Path(String, Vec<Step>),
    Length(String, Vec<Step>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Attribute(String),
    Key(String),
    Position(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// What the names of a condition stand for.
pub(crate) trait Names {
    /// The value of a name. `context` has attributes, everything else has keys.
    fn value(&self, name: &str) -> Option<&Value>;

    /// A field of the context.
    fn context(&self, field: &str) -> Option<&Value>;
}

impl Condition {
    /// Reads a condition; `None` when it holds anything that is not decided here.
    pub(crate) fn parse(text: &str) -> Option<Condition> {
        let mut reader = Reader { tokens: tokens(text)?, position: 0, depth: 0 };
        let condition = reader.any()?;
        (reader.position == reader.tokens.len()).then_some(condition)
    }

    /// Whether the condition holds; `None` leaves it to Python.
    pub(crate) fn holds(&self, names: &dyn Names) -> Option<bool> {
        match self {
            Condition::Or(parts) => {
                for part in parts {
                    if part.holds(names)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Condition::And(parts) => {
                for part in parts {
                    if !part.holds(names)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Condition::Not(part) => part.holds(names).map(|holds| !holds),
            Condition::Flag(operand) => match operand.value(names)? {
                Found::Borrowed(Value::Bool(flag)) => Some(*flag),
                _ => None,
            },
            Condition::Compare(left, comparison, right) => {
                let (left, right) = (left.value(names)?, right.value(names)?);
                comparison.holds(left.get(), right.get())
            }
        }
    }
}

enum Found<'v> {
    Borrowed(&'v Value),
    Owned(Value),
}

impl Found<'_> {
    fn get(&self) -> &Value {
        match self {
            Found::Borrowed(value) => value,
            Found::Owned(value) => value,
        }
    }
}

impl Operand {
    fn value<'v>(&'v self, names: &'v dyn Names) -> Option<Found<'v>> {
        match self {
            Operand::Literal(value) => Some(Found::Borrowed(value)),
            Operand::Path(root, steps) => follow(names, root, steps).map(Found::Borrowed),
            Operand::Length(root, steps) => {
                let length = match follow(names, root, steps)? {
                    Value::Array(items) => items.len(),
                    Value::Object(object) => object.len(),
                    Value::String(text) => text.chars().count(),
                    _ => return None,
                };
                Some(Found::Owned(Value::from(length)))
            }
        }
    }
}

fn follow<'v>(names: &'v dyn Names, root: &str, steps: &[Step]) -> Option<&'v Value> {
    let mut steps = steps.iter();
    let mut here = if root == "context" {
        match steps.next()? {
            Step::Attribute(field) => names.context(field)?,
            _ => return None,
        }
    } else {
        names.value(root)?
    };
    for step in steps {
        here = match (step, here) {
            (Step::Key(key), Value::Object(object)) => object.get(key)?,
            (Step::Position(position), Value::Array(items)) => items.get(*position)?,
            _ => return None,
        };
    }
    Some(here)
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let is_equality = matches!(self, Comparison::Equal | Comparison::NotEqual);
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => order(left, right)?,
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) if is_equality => left.cmp(right),
            (Value::Null, Value::Null) if is_equality => Ordering::Equal,
            // A text and nothing are different from everything of another kind; a boolean is a number.
            (Value::Null, Value::String(_) | Value::Number(_) | Value::Bool(_))
            | (Value::String(_), Value::Null | Value::Number(_) | Value::Bool(_))
            | (Value::Number(_) | Value::Bool(_), Value::Null | Value::String(_))
                if is_equality =>
            {
                return Some(self == Comparison::NotEqual);
            }
            _ => return None,
        };
        Some(match self {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
        })
    }
}

fn order(left: &Number, right: &Number) -> Option<Ordering> {
    let exact = |number: &Number| match number {
        Number::Int(integer) if (-EXACT..=EXACT).contains(integer) => Some(*integer as f64),
        Number::Float(float) if float.is_finite() => Some(*float),
        _ => None,
    };
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => Some(left.cmp(right)),
        _ => exact(left)?.partial_cmp(&exact(right)?),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Literal(Value),
    Mark(&'static str),
}

/// The tokens of a condition; `None` for anything that has no place in one that is decided here.
fn tokens(text: &str) -> Option<Vec<Token>> {
    const MARKS: [&str; 12] = ["<=", ">=", "==", "!=", "<", ">", "(", ")", "[", "]", ".", "-"];
    let mut tokens = Vec::new();
    let mut rest = text.trim_matches(' ');
    while let Some(first) = rest.chars().next() {
        if first == ' ' {
            rest = rest.trim_start_matches(' ');
        } else if first == '_' || first.is_ascii_alphabetic() {
            let end =
                rest.find(|next: char| next != '_' && !next.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            // A prefix of a string, such as `f'…'`, is not a name.
            if after.starts_with(['\'', '"']) {
                return None;
            }
            tokens.push(match name {
                "True" => Token::Literal(true.into()),
                "False" => Token::Literal(false.into()),
                "None" => Token::Literal(Value::Null),
                "is" | "in" | "if" | "else" | "for" | "lambda" | "await" => return None,
                name => Token::Name(name.to_owned()),
            });
            rest = after;
        } else if first.is_ascii_digit() {
            let end =
                rest.find(|next: char| next != '.' && !next.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            tokens.push(Token::Literal(number(digits)?));
            rest = after;
        } else if first == '\'' || first == '"' {
            let inside = rest.get(1..)?;
            let end = inside.find(first)?;
            let said = inside.get(..end)?;
            // Escapes and three quotes are Python's to read.
            if said.contains(['\\', '\n'])
                || (said.is_empty() && inside.get(1..).is_some_and(|after| after.starts_with(first)))
            {
                return None;
            }
            tokens.push(Token::Literal(said.into()));
            rest = inside.get(end + 1..)?;
        } else {
            let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark))?;
            tokens.push(Token::Mark(mark));
            rest = rest.get(mark.len()..)?;
        }
    }
    Some(tokens)
}

/// A decimal number in its plain forms: `7`, `0.25`.
fn number(digits: &str) -> Option<Value> {
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !fraction.is_none_or(plain) {
        return None;
    }
    match fraction {
        Some(_) => digits.parse::<f64>().ok().map(Value::from),
        // Python refuses a leading zero.
        None if whole.len() > 1 && whole.starts_with('0') => None,
        None => whole.parse::<i64>().ok().map(Value::from),
    }
}

struct Reader {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
}

impl Reader {
    fn any(&mut self) -> Option<Condition> {
        let mut parts = vec![self.all()?];
        while self.takes_name("or") {
            parts.push(self.all()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::Or(parts) })
    }

    fn all(&mut self) -> Option<Condition> {
        let mut parts = vec![self.negated()?];
        while self.takes_name("and") {
            parts.push(self.negated()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::And(parts) })
    }

    fn negated(&mut self) -> Option<Condition> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let condition = if self.takes_name("not") {
            Condition::Not(Box::new(self.negated()?))
        } else if self.takes_mark("(") {
            let inside = self.any()?;
            if !self.takes_mark(")") || self.comparison().is_some() {
                return None;
            }
            inside
        } else {
            let left = self.operand()?;
            match self.comparison() {
                None => Condition::Flag(left),
                Some(comparison) => {
                    let right = self.operand()?;
                    // `a < b < c` is Python's to read.
                    if self.comparison().is_some() {
                        return None;
                    }
                    Condition::Compare(left, comparison, right)
                }
            }
        };
        self.depth -= 1;
        Some(condition)
    }

    fn operand(&mut self) -> Option<Operand> {
        if self.takes_mark("-") {
            return match self.next()? {
                Token::Literal(Value::Number(Number::Int(integer))) => {
                    Some(Operand::Literal(integer.checked_neg()?.into()))
                }
                Token::Literal(Value::Number(Number::Float(float))) => {
                    Some(Operand::Literal((-float).into()))
                }
                _ => None,
            };
        }
        match self.next()? {
            Token::Literal(value) => {
                // A literal with steps behind it is Python's to read.
                (!self.is_mark("[") && !self.is_mark(".")).then_some(Operand::Literal(value))
            }
            Token::Name(name) if name == "len" => {
                if !self.takes_mark("(") {
                    return None;
                }
                let Token::Name(root) = self.next()? else { return None };
                let steps = self.steps(&root)?;
                self.takes_mark(")").then_some(Operand::Length(root, steps))
            }
            Token::Name(root) if !matches!(root.as_str(), "and" | "or" | "not") => {
                let steps = self.steps(&root)?;
                Some(Operand::Path(root, steps))
            }
            _ => None,
        }
    }

    fn steps(&mut self, root: &str) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if self.takes_mark("[") {
                steps.push(match self.next()? {
                    Token::Literal(Value::String(key)) => Step::Key(key),
                    Token::Literal(Value::Number(Number::Int(position))) => {
                        Step::Position(usize::try_from(position).ok()?)
                    }
                    _ => return None,
                });
                if !self.takes_mark("]") {
                    return None;
                }
            } else if self.is_mark(".") {
                // Only the context has attributes, and only its fields are plain data.
                if root != "context" || !steps.is_empty() {
                    return None;
                }
                self.position += 1;
                let Token::Name(field) = self.next()? else { return None };
                if field == "get" || self.is_mark("(") {
                    return None;
                }
                steps.push(Step::Attribute(field));
            } else if self.is_mark("(") {
                return None;
            } else {
                return Some(steps);
            }
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let marks = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        marks.into_iter().find(|(mark, _)| self.takes_mark(mark)).map(|(_, comparison)| comparison)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.position).cloned();
        self.position += 1;
        token
    }

    fn is_mark(&self, wanted: &str) -> bool {
        matches!(self.tokens.get(self.position), Some(Token::Mark(mark)) if *mark == wanted)
    }

    fn takes_mark(&mut self, wanted: &str) -> bool {
        let takes = self.is_mark(wanted);
        self.position += usize::from(takes);
        takes
    }

    fn takes_name(&mut self, wanted: &str) -> bool {
        let takes = matches!(self.tokens.get(self.position), Some(Token::Name(name)) if name == wanted);
        self.position += usize::from(takes);
        takes
    }
}

#[cfg(test)]
mod against_python;

#[cfg(test)]
mod tests {
    use super::*;

    struct Values(Value, Value);

    impl Names for Values {
        fn value(&self, name: &str) -> Option<&Value> {
            (name == "value").then_some(&self.0)
        }

        fn context(&self, field: &str) -> Option<&Value> {
            self.1.get(field)
        }
    }

    fn holds(text: &str, value: &str) -> Option<bool> {
        let values = Values(
            stave_canon::parse(value).unwrap(),
            stave_canon::parse(r#"{"tier": "gold", "n": 3}"#).unwrap(),
        );
        Condition::parse(text)?.holds(&values)
    }

    #[test]
    fn comparisons_are_decided_as_python_decides_them() {
        let table = [
            ("value > 0.7", "0.81", Some(true)),
            ("value > 0.7", "0.7", Some(false)),
            ("value >= 1", "1.0", Some(true)),
            ("value == 1", "1.0", Some(true)),
            ("value != 'a'", "\"b\"", Some(true)),
            ("value == None", "null", Some(true)),
            ("value == 'a'", "null", Some(false)),
            ("value['n'] < -2", "{\"n\": -3}", Some(true)),
            ("value[1] == \"x\"", "[1, \"x\"]", Some(true)),
            ("len(value) > 0", "[]", Some(false)),
            ("len(value) == 2", "\"é1\"", Some(true)),
            ("not value", "true", Some(false)),
            ("not (value > 1 and context.tier == 'gold') or value == 9", "2", Some(false)),
            ("context.n == 3 and value", "true", Some(true)),
            ("value < 'b'", "\"a\"", Some(true)),
            ("9007199254740993 == value", "9007199254740993", Some(true)),
        ];
        for (text, value, wanted) in table {
            assert_eq!(holds(text, value), wanted, "{text} on {value}");
        }
    }

    #[test]
    fn whatever_is_not_certain_is_left_to_python() {
        let table = [
            ("value", "1"),
            ("value > 0", "null"),
            ("value > 0", "\"a\""),
            ("value == 1", "true"),
            ("value == value", "[1]"),
            ("value['k'] > 0", "{}"),
            ("value[9] > 0", "[]"),
            ("0 < value < 5", "1"),
            ("value in [1]", "1"),
            ("value is None", "null"),
            ("value.get('k') == 1", "{}"),
            ("context.get('n') == 3", "1"),
            ("context['n'] == 3", "1"),
            ("str(value) == '1'", "1"),
            ("value + 1 > 0", "1"),
            ("value > 1e3", "1"),
            ("value == 'a\\n'", "\"a\""),
            ("value == f'a'", "\"a\""),
            ("value == 007", "7"),
            ("other > 1", "1"),
            ("value > 9007199254740993", "9007199254740992.0"),
            ("(value) > 1", "2"),
            ("value and 1", "true"),
            ("", "1"),
            ("value >", "1"),
        ];
        for (text, value) in table {
            assert_eq!(holds(text, value), None, "{text} on {value}");
        }
    }
}
