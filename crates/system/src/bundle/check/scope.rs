//! The bundle, its envelope and its document belong to one tenant and repository, and the envelope to the
//! bundle's run.

use stave_canon::Pointer;

use super::{Issues, text};
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
                let pointer = if bundle.get(key).is_some() { root.key(key) } else { root.clone() };
                issues.add(
                    codes::BUNDLE_CROSS_TENANT,
                    pointer,
                    format!("{key} is {found}, the document's is {own:?}"),
                );
            }
        }
    }
    let Some(envelope) = bundle.get("runtime_policy_envelope").filter(|part| part.as_object().is_some())
    else {
        issues.add(codes::BUNDLE_BAD_SHAPE, root, "`runtime_policy_envelope` is missing or no object");
        return;
    };
    for key in ["tenant_id", "repo_id", "run_id"] {
        let (own, found) = (text(bundle, key), text(envelope, key));
        if own != found || own.is_none() {
            let message = format!("{key} of the envelope is {found:?}, the bundle's is {own:?}");
            let pointer = Pointer::root().key("runtime_policy_envelope").key(key);
            issues.add(codes::BUNDLE_CROSS_TENANT, pointer, message);
        }
    }
}
