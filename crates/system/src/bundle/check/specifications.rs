//! The hashes of orchestration and coordination are those of the specifications themselves, and every
//! reference to the coordination says the same.

use stave_canon::{Pointer, Value};

use super::{Issues, run_id, text};
use crate::bundle::coordination_path;
use crate::{codes, stable_json_fingerprint};

const COORDINATION: &str = "coordination_spec_sha256";

pub(super) fn check(issues: &mut Issues<'_>) {
    let subject = issues.subject;
    let hashes = issues.member("spec_hashes").cloned().unwrap_or_default();
    let pointer = Pointer::root().key("spec_hashes");
    let pairs = [("orchestration_spec_sha256", subject.orchestration), (COORDINATION, subject.coordination)];
    for (key, specification) in pairs {
        let Some(wanted) = specification.map(stable_json_fingerprint) else { continue };
        if text(&hashes, key) != Some(&wanted) {
            issues.add(codes::BUNDLE_SPEC_MISMATCH, pointer.key(key), format!("`{key}` is not {wanted}"));
        }
    }
    reference(issues, text(&hashes, COORDINATION));
    inline(issues, text(&hashes, COORDINATION));
}

/// A reference may leave its members out, but not get them wrong.
fn reference(issues: &mut Issues<'_>, hash: Option<&str>) {
    let pointer = Pointer::root().key("coordination_ref");
    let reference = match issues.member("coordination_ref") {
        None | Some(Value::Null) => return,
        Some(reference) if reference.as_object().is_some() => reference,
        Some(_) => {
            issues.add(codes::BUNDLE_BAD_SHAPE, pointer, "must be an object");
            return;
        }
    };
    let wanted = coordination_path(run_id(issues.subject.bundle));
    if reference.get("path").is_some_and(|path| path.as_str() != Some(&wanted)) {
        issues.add(codes::BUNDLE_SPEC_MISMATCH, pointer.key("path"), format!("the path is not {wanted:?}"));
    }
    if let Some(found) = reference.get("fingerprint") {
        let is_hash = found.as_str().is_some_and(|found| {
            found.len() == 64 && found.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        });
        if !is_hash {
            let message = "must be 64 lowercase hexadecimal digits";
            issues.add(codes::BUNDLE_SPEC_MISMATCH, pointer.key("fingerprint"), message);
        } else if found.as_str() != hash {
            let message = format!("differs from `{COORDINATION}`");
            issues.add(codes::BUNDLE_SPEC_MISMATCH, pointer.key("fingerprint"), message);
        }
    }
}

fn inline(issues: &mut Issues<'_>, hash: Option<&str>) {
    let Some(inline) = issues.member("coordination_spec").filter(|part| !part.is_null()) else { return };
    if Some(stable_json_fingerprint(inline).as_str()) != hash {
        let message = format!("the inline coordination differs from `{COORDINATION}`");
        issues.add(codes::BUNDLE_SPEC_MISMATCH, Pointer::root().key("coordination_spec"), message);
    }
}
