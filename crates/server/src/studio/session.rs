//! What the page has to know before it asks for anything else.

use stave_canon::Value;
use stave_flow::edit::chat::FORMS;
use stave_flow::model::PortType;
use stave_flow::types::connection;

use super::graph::cast_word;
use super::request::TEXT_BYTES;
use super::{Studio, gateway, object};
use crate::handlers::Call;
use crate::roles::Role;

pub(super) fn session(call: &Call<'_>, studio: &Studio) -> Value {
    let options = &call.shared.options;
    let projects: Vec<_> = studio
        .workspace
        .projects()
        .into_iter()
        .filter(|project| call.principal.may_see(&project.tenant))
        .collect();
    let first = projects.first();
    let own = call.principal.tenant().map(str::to_owned);
    let tenant = own.or_else(|| first.map(|project| project.tenant.clone()));
    let flows = call.principal.flows().map(|flows| flows.iter().cloned().collect::<Vec<String>>());
    let chat = object([
        ("model", first.and_then(|project| project.model.clone()).into()),
        ("forms", FORMS.to_vec().into()),
    ]);
    let shown = projects.iter().map(|project| {
        object([
            ("id", project.id.as_str().into()),
            ("tenant", project.tenant.as_str().into()),
            ("repo", project.repo.as_str().into()),
            ("policy", project.policy.as_str().into()),
        ])
    });
    object([
        ("version", options.version.into()),
        ("tenant", tenant.into()),
        // The page changes nothing when its key may not.
        ("read_only", (studio.is_read_only || !call.principal.has(Role::Edit)).into()),
        ("roles", call.principal.roles().into()),
        ("flows", flows.into()),
        ("keys", (!options.keys.current().is_empty()).into()),
        ("chat", chat),
        ("projects", Value::Array(shown.collect())),
        ("types", types()),
        (
            "limits",
            object([("text_bytes", TEXT_BYTES.into()), ("body_bytes", options.limits.body_bytes.into())]),
        ),
        ("gateway", gateway::is_available(call, studio).into()),
    ])
}

/// The port types, and every pair of them that connects.
fn types() -> Value {
    let pairs = PortType::ALL.into_iter().flat_map(|from| PortType::ALL.map(|to| (from, to)));
    let connections = pairs.filter_map(|(from, to)| {
        let cast = connection(from, to)?;
        Some(Value::from_iter([("from", from.word()), ("to", to.word()), ("cast", cast_word(cast))]))
    });
    object([
        ("types", PortType::ALL.map(PortType::word).to_vec().into()),
        ("connections", Value::Array(connections.collect())),
    ])
}
