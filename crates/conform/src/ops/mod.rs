//! The ops by name: one file for each line of the stave.
//!
//! To add an op, write `fn name(input: &Value) -> Outcome` in its line's file and put it in that file's
//! `OPS` table under its full name (`"line.op"`). An op takes the row's `input`, gives back the row's
//! output, and refuses an input by returning an error: any error type that prints becomes a [`Refusal`]
//! through `?`. Then correct the table in `tests/rows.rs`, which pins how many rows of each op pass.

mod block;
mod exec;
mod prompt;
mod system;

use stave_canon::{Object, Value};

/// Why an op did not accept its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

pub(crate) type Outcome = Result<Value, Refusal>;
pub(crate) type Op = fn(&Value) -> Outcome;

/// One line's ops by full name.
pub(crate) type Table = &'static [(&'static str, Op)];

const TABLES: [Table; 4] = [prompt::OPS, system::OPS, exec::OPS, block::OPS];

/// The op called `name`; `None` when it is not built.
pub(crate) fn find(name: &str) -> Option<Op> {
    TABLES.iter().copied().flatten().find(|(candidate, _)| *candidate == name).map(|(_, op)| *op)
}

impl<E: std::fmt::Display> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal(error.to_string())
    }
}

/// The member `key` of an op's input.
pub(crate) fn member<'v>(input: &'v Value, key: &str) -> Result<&'v Value, Refusal> {
    input.get(key).ok_or_else(|| Refusal(format!("the input needs `{key}`")))
}

/// The member `key` of an op's input, which must be a string.
pub(crate) fn text<'v>(input: &'v Value, key: &str) -> Result<&'v str, Refusal> {
    let value = member(input, key)?;
    value.as_str().ok_or_else(|| Refusal(format!("`{key}` must be a string, not {}", value.kind())))
}

/// An output object.
pub(crate) fn output<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Object>())
}
