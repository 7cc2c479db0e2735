//! `system_ir_ref` names the document: its path, its fingerprint and both of its versions.

use stave_canon::{Pointer, Value};

use super::{Issues, run_id};
use crate::bundle::ir_path;
use crate::codes;

pub(super) fn check(issues: &mut Issues<'_>) {
    let pointer = Pointer::root().key("system_ir_ref");
    let Some(reference) = issues.member("system_ir_ref").filter(|part| part.as_object().is_some()) else {
        issues.add(codes::BUNDLE_IR_MISMATCH, pointer, "`system_ir_ref` is missing or no object");
        return;
    };
    let document = issues.subject.document;
    let wanted = [
        ("path", Value::from(ir_path(run_id(issues.subject.bundle)))),
        ("fingerprint", document.fingerprint().into()),
        ("format_version", document.version.format_version().into()),
        ("schema_version", document.version.schema_version().into()),
    ];
    for (key, wanted) in wanted {
        match reference.get(key) {
            Some(found) if *found == wanted => {}
            Some(found) => {
                let message = format!("{key} is {found}, the document's is {wanted}");
                issues.add(codes::BUNDLE_IR_MISMATCH, pointer.key(key), message);
            }
            None => issues.add(codes::BUNDLE_IR_MISMATCH, pointer.key(key), format!("`{key}` is missing")),
        }
    }
}
