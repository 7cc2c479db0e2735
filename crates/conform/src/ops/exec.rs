//! Ops of the exec line. The header of [`super`] says how one is added.

use stave_canon::Value;
use stave_exec::Acceptance;

use super::{Outcome, Table, member, output};

pub(super) const OPS: Table = &[("exec.validate", validate)];

/// Whether a document satisfies rules 1 to 8.
fn validate(input: &Value) -> Outcome {
    let valid = stave_exec::read(member(input, "ir")?, Acceptance::Exact).is_ok();
    Ok(output([("valid", valid.into())]))
}
