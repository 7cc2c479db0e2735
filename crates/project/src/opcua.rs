//! The plants that flows may reach, in builds that have the feature.

use std::sync::Arc;

use stave_runtime::opcua::Opcua;

use crate::project::Project;

/// This build speaks no OPC UA, so documents with such steps are refused before anything runs.
#[cfg(not(feature = "opcua"))]
pub fn plants(_: &Project) -> Option<Arc<dyn Opcua>> {
    None
}

#[cfg(feature = "opcua")]
pub fn plants(project: &Project) -> Option<Arc<dyn Opcua>> {
    use std::time::Duration;

    use stave_opcua::{OpcUaSettings, Plants, Security, User};

    let opcua = &project.settings.opcua;
    let pki = project.root.join(opcua.pki.as_deref().unwrap_or(".stave/pki"));
    let user = opcua.user.as_ref().map(|user| {
        let password = opcua.password.as_deref().and_then(|name| project.secret(name));
        let password = password.unwrap_or_else(|| stave_llm::Secret::new(String::new()));
        User { name: user.clone(), password }
    });
    let security = opcua.policy.as_ref().map(|policy| Security {
        policy: policy.clone(),
        is_encrypted: opcua.mode.as_deref() != Some("Sign"),
        pki,
        user,
    });
    let timeout = opcua.timeout_ms.map_or(stave_opcua::TIMEOUT, Duration::from_millis);
    Some(Arc::new(Plants::new(OpcUaSettings { allow: opcua.allow.clone(), timeout, security })))
}
