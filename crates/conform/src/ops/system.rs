//! Ops of the system line. The header of [`super`] says how one is added.

use stave_canon::{Layout, Value, compact_utf8, sha256_of};

use super::{Outcome, Table, member, output};

pub(super) const OPS: Table = &[("system.stable_json_fingerprint", stable_json_fingerprint)];

fn stable_json_fingerprint(input: &Value) -> Outcome {
    let object = member(input, "object")?;
    Ok(output([
        ("fingerprint", sha256_of(object, &Layout::COMPACT_UTF8).into()),
        ("canonical_text", compact_utf8(object).into()),
    ]))
}
