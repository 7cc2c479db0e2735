//! What the gateways of projects recorded. A gateway serves the keys of several tenants, so a tenant is shown its own
//! requests alone.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;

use super::Studio;
use super::request::{TEXT_TIME, problem};
use crate::api::Either;
use crate::api::gateway_types::{GatewayRecords, GatewayStats, GroupBy, NoGateway};
use crate::handlers::Call;
use crate::problem::Problem;

/// The longest time that is looked back over, in hours.
const MOST_HOURS: u64 = 24 * 366;

/// The statistics of a project's gateway, over the last hours and in groups.
pub(super) async fn gateway(
    call: &Call<'_>,
    studio: &Studio,
) -> Result<Either<GatewayRecords, NoGateway>, Problem> {
    let by = call.parameter("by").map_or(Some(GroupBy::Model), GroupBy::from_word).ok_or_else(|| {
        let words = GroupBy::ALL.map(GroupBy::word);
        Problem::bad_request(format!("`by` must be one of {}", words.join(", ")))
    })?;
    let hours = match call.parameter("hours") {
        None => Ok(24 * 7),
        Some(text) => text.parse::<u64>(),
    };
    let hours = hours.ok().filter(|hours| (1..=MOST_HOURS).contains(hours));
    let hours = hours
        .ok_or_else(|| Problem::bad_request(format!("`hours` must be a number from 1 to {MOST_HOURS}")))?;
    let projects = recorded(call, studio);
    let project = match call.parameter("project") {
        Some(wanted) => match projects.iter().find(|project| *project == wanted) {
            Some(project) => project,
            None if is_visible(call, studio, wanted) => return Ok(nothing()),
            None => return Err(Problem::not_found("project", wanted)),
        },
        None => match projects.first() {
            Some(project) => project,
            None => return Ok(nothing()),
        },
    };
    let now = call.shared.options.clock.now();
    let since = now.checked_sub(Duration::from_secs(hours * 3600)).unwrap_or(now);
    let (workspace, name) = (Arc::clone(&studio.workspace), project.clone());
    let tenant = call.principal.tenant().map(str::to_owned);
    let stats = studio.work(&call.principal, TEXT_TIME, move || {
        workspace.gateway(&name, tenant.as_deref(), (since, now), by.word())
    });
    match stats.await?.map_err(|error| problem(&error, None))? {
        Some(stats) => {
            let stats = stave_shape::read::<GatewayStats>(&stats).map_err(|faults| {
                let detail = format!("the gateway's statistics have another form: {faults}");
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
            })?;
            let project = project.clone();
            Ok(Either::One(GatewayRecords { project, projects, by, hours, stats }))
        }
        None => Ok(nothing()),
    }
}

/// Whether there is anything to show.
pub(super) fn is_available(call: &Call<'_>, studio: &Studio) -> bool {
    !recorded(call, studio).is_empty()
}

/// The projects that may be seen and have a gateway.
fn recorded(call: &Call<'_>, studio: &Studio) -> Vec<String> {
    // Records name no flow, so who is for some flows only sees none of them.
    let projects = studio.workspace.projects().into_iter().filter(|_| call.principal.flows().is_none());
    let visible =
        projects.filter(|project| call.principal.may_see(&project.tenant)).map(|project| project.id);
    visible.filter(|project| studio.workspace.has_gateway(project)).collect()
}

/// Whether there is such a project and it may be seen, with or without a gateway.
fn is_visible(call: &Call<'_>, studio: &Studio, wanted: &str) -> bool {
    let mut projects = studio.workspace.projects().into_iter();
    projects.any(|project| project.id == wanted && call.principal.may_see(&project.tenant))
}

fn nothing() -> Either<GatewayRecords, NoGateway> {
    Either::Other(NoGateway { reason: "no gateway of this project has recorded anything".to_owned() })
}
