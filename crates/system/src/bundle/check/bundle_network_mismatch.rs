//! The envelope allows the network exactly when the intent does and nothing known forbids it, and no role
//! may do what the envelope does not allow.

use stave_canon::{Pointer, Value};

use super::Issues;
use crate::bundle::forbids_network;
use crate::codes;

pub(super) fn check(issues: &mut Issues<'_>) {
    let pointer = Pointer::root().key("runtime_policy_envelope");
    let Some(envelope) = issues.member("runtime_policy_envelope") else { return };
    let allowed = envelope.get("allow_network").and_then(Value::as_bool);
    if let Some(intent) = issues.subject.expected_allow_network {
        let wanted = intent && !forbids_network(issues.subject.document);
        if allowed != Some(wanted) {
            let message = format!("`allow_network` must be {wanted}");
            issues.add(codes::BUNDLE_NETWORK_MISMATCH, pointer.key("allow_network"), message);
        }
    }
    const PROFILES: &str = "coordination_role_isolation_profiles";
    let profiles = envelope.get(PROFILES).and_then(Value::as_object);
    for (role, profile) in profiles.into_iter().flatten() {
        let asks = profile.get("execution_allow_network").and_then(Value::as_bool) == Some(true);
        if asks && allowed != Some(true) {
            let pointer = pointer.key(PROFILES).key(role).key("execution_allow_network");
            issues.add(
                codes::BUNDLE_NETWORK_MISMATCH,
                pointer,
                format!("role {role:?} may use a network that the bundle forbids"),
            );
        }
    }
}
