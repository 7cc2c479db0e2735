//! The bundle, its envelope and its document belong to one tenant and repository, and the envelope to the
//! bundle's run.

use stave_canon::Pointer;

use super::{Issues, run_id, text};
use crate::{codes, strip};

pub(super) fn check(issues: &mut Issues<'_>) {
    let root = Pointer::root();
    let (bundle, document) = (issues.subject.bundle, issues.subject.document);
    let owners = [("tenant_id", strip(&document.tenant_id)), ("repo_id", strip(&document.repo_id))];
    for (key, own) in owners {
        match text(bundle, key) {
            Some(found) if found == own => {}
            found => {
                let found = found.map_or_else(|| "nothing".to_owned(), |found| format!("{found:?}"));
                let message = format!("{key} is {found}, the document's is {own:?}");
                issues.add(codes::BUNDLE_CROSS_TENANT, root.key(key), message);
            }
        }
    }
    let run = run_id(bundle);
    if text(bundle, "run_id") != Some(run) {
        let message = format!("run_id is not {run:?}, which the rest of the bundle names");
        issues.add(codes::BUNDLE_CROSS_TENANT, root.key("run_id"), message);
    }
    let Some(envelope) = bundle.get("runtime_policy_envelope").filter(|part| part.as_object().is_some())
    else {
        let pointer = root.key("runtime_policy_envelope");
        issues.add(codes::BUNDLE_BAD_SHAPE, pointer, "`runtime_policy_envelope` is missing or no object");
        return;
    };
    for key in ["tenant_id", "repo_id", "run_id"] {
        let own = if key == "run_id" { Some(run) } else { text(bundle, key) };
        let found = text(envelope, key);
        if own != found || own.is_none() {
            let message = format!("{key} of the envelope is {found:?}, the bundle's is {own:?}");
            let pointer = Pointer::root().key("runtime_policy_envelope").key(key);
            issues.add(codes::BUNDLE_CROSS_TENANT, pointer, message);
        }
    }
}
