//! What the page has to know before it asks for anything else.

use stave_flow::edit::chat::FORMS;
use stave_flow::model::PortType;
use stave_flow::types::connection;

use super::request::TEXT_BYTES;
use super::{Studio, gateway};
use crate::api::{Cast, ChatSettings, ProjectFacts, Session, StudioLimits, TypeConnection, TypeTable};
use crate::handlers::Call;
use crate::roles::Role;

pub(super) fn session(call: &Call<'_>, studio: &Studio) -> Session {
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
    let chat = ChatSettings {
        model: first.and_then(|project| project.model.clone()).into(),
        forms: FORMS.iter().map(|form| (*form).to_owned()).collect(),
    };
    let shown = projects.into_iter().map(|project| ProjectFacts {
        id: project.id,
        tenant: project.tenant,
        repo: project.repo,
        policy: project.policy,
    });
    Session {
        version: options.version.to_owned(),
        tenant: tenant.into(),
        // The page changes nothing when its key may not.
        read_only: studio.is_read_only || !call.principal.has(Role::Edit),
        roles: call.principal.roles().into_iter().map(str::to_owned).collect(),
        flows: flows.into(),
        keys: !options.keys.current().is_empty(),
        chat,
        projects: shown.collect(),
        types: types(),
        limits: StudioLimits { text_bytes: TEXT_BYTES as u64, body_bytes: options.limits.body_bytes as u64 },
        gateway: gateway::is_available(call, studio),
    }
}

/// The port types, and every pair of them that connects.
fn types() -> TypeTable {
    let pairs = PortType::ALL.into_iter().flat_map(|from| PortType::ALL.map(|to| (from, to)));
    let connections = pairs.filter_map(|(from, to)| {
        let cast = connection(from, to)?;
        Some(TypeConnection { from, to, cast: Cast::of(cast) })
    });
    TypeTable { types: PortType::ALL.to_vec(), connections: connections.collect() }
}
