//! The gateway's configuration, from `stave.toml` and the environment.

use std::path::Path;

use stave_block::Sensitivity;
use stave_diag::{Diagnostic, Sources, render};
use stave_gateway::{Enforcement, GatewayConfig, RequestPolicy, UpstreamConfig};
use stave_llm::Provider;
use stave_runtime::HostPort;

use crate::exit::Stop;
use crate::governance;
use crate::project::{FILE, Project, UpstreamSettings};
use crate::{prompt_plugins, services};

/// The project of a folder.
pub(super) fn project(folder: &Path) -> Result<Project, Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let project = Project::at(folder, &mut sources, &mut diagnostics)?;
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Stop::invalid(format!("{FILE}: {}", render::summary(&diagnostics)))
            .help("`stave check stave.toml` says what is wrong"));
    }
    Ok(project)
}

pub(super) fn read(project: &Project) -> Result<GatewayConfig, Stop> {
    let settings = &project.settings.gateway;
    let mut upstreams = Vec::new();
    for upstream in &settings.upstreams {
        upstreams.push(self::upstream(project, upstream)?);
    }
    if upstreams.is_empty() {
        // The providers themselves, with whatever key the client has.
        upstreams = vec![
            UpstreamConfig::new("anthropic", Provider::Anthropic),
            UpstreamConfig::new("openai", Provider::OpenAi),
        ];
    }
    Ok(GatewayConfig {
        tenant: project.tenant().to_owned(),
        upstreams,
        models: settings.models.clone(),
        limits: settings.limits,
        timeouts: settings.timeouts,
        retries: settings.retries,
        breaker: settings.breaker,
        policy: RequestPolicy {
            governance: governance::policies(project)?,
            enforcement: settings.enforcement.unwrap_or(Enforcement::Enforce),
            sensitivity: project.settings.sensitivity_policy(),
            labels: settings.labels.clone(),
            gate: settings.gate.unwrap_or(true),
            forward_unreadable: settings.forward_unreadable,
            forward_unjudged: settings.forward_unjudged,
            plugins: prompt_plugins::of_gateway(project, &services::worker()?)?,
        },
        planning: settings.planning,
        prices: services::prices(project),
    })
}

fn upstream(project: &Project, settings: &UpstreamSettings) -> Result<UpstreamConfig, Stop> {
    let key = match &settings.key {
        None => None,
        Some(name) => {
            let value = project.secret(name).ok_or_else(|| {
                Stop::invalid(format!("the key of upstream `{}` is not there", settings.name))
                    .help(format!("set {name} in the environment, or put it into the folder of `[secrets]`"))
            })?;
            Some(value)
        }
    };
    let endpoint = settings.endpoint.as_deref().or_else(|| settings.provider.endpoint());
    let scopes = &project.settings.accepts;
    let said = endpoint
        .and_then(HostPort::of)
        .and_then(|host| host.find(&scopes.hosts))
        .or_else(|| scopes.providers.get(settings.provider.word()));
    Ok(UpstreamConfig {
        name: settings.name.clone(),
        provider: settings.provider,
        endpoint: settings.endpoint.clone(),
        key,
        api_version: settings.api_version.clone(),
        interfaces: settings.interfaces.clone(),
        models: settings.models.clone(),
        concurrency: settings.concurrency.map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
        accepts: settings.accepts.or(said.copied()).unwrap_or(Sensitivity::Private),
        timeouts: settings.timeouts,
    })
}
