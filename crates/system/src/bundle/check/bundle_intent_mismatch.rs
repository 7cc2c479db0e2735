//! The reference to the intent and the intent's policy projection speak of one intent.

use stave_canon::Pointer;

use super::Issues;
use crate::codes;

const PAIRS: [(&str, &str); 4] = [
    ("intent_id", "intent_id"),
    ("stable_intent_sha256", "stable_intent_sha256"),
    ("semantic_fingerprint", "intent_semantic_fingerprint"),
    ("goal_text_fingerprint", "intent_goal_text_fingerprint"),
];

pub(super) fn check(issues: &mut Issues<'_>) {
    let object = |key: &str| issues.member(key).filter(|part| part.as_object().is_some());
    let (Some(reference), Some(projection)) = (object("intent_ref"), object("intent_policy_projection"))
    else {
        return;
    };
    for (key, projected) in PAIRS {
        if reference.get(key) != projection.get(projected) {
            let message = format!("`{key}` differs from `{projected}` of the policy projection");
            issues.add(codes::BUNDLE_INTENT_MISMATCH, Pointer::root().key("intent_ref").key(key), message);
        }
    }
}
