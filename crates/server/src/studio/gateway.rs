//! What the gateways of projects recorded. A gateway serves the keys of several tenants, so a tenant is shown its own
//! requests alone.

use std::sync::Arc;
use std::time::Duration;

use stave_canon::Value;

use super::request::{TEXT_TIME, problem};
use super::{Studio, object};
use crate::handlers::Call;
use crate::problem::Problem;

/// What records can be grouped by.
const GROUPS: [&str; 4] = ["model", "session", "key", "upstream"];

/// The longest time that is looked back over, in hours.
const MOST_HOURS: u64 = 24 * 366;

/// The statistics of a project's gateway, over the last hours and in groups.
pub(super) async fn gateway(call: &Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    let by = call.parameter("by").unwrap_or("model");
    let Some(by) = GROUPS.into_iter().find(|known| *known == by) else {
        return Err(Problem::bad_request(format!("`by` must be one of {}", GROUPS.join(", "))));
    };
    let hours = match call.parameter("hours") {
        None => Ok(24 * 7),
        Some(text) => text.parse::<u64>(),
    };
    let hours = hours.ok().filter(|hours| (1..=MOST_HOURS).contains(hours));
    let hours = hours
        .ok_or_else(|| Problem::bad_request(format!("`hours` must be a number from 1 to {MOST_HOURS}")))?;
    let projects = recorded(call, studio);
    let project = match call.parameter("project") {
        Some(wanted) => {
            let known = projects.iter().find(|project| *project == wanted);
            known.ok_or_else(|| Problem::not_found("project", wanted))?
        }
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
        workspace.gateway(&name, tenant.as_deref(), (since, now), by)
    });
    match stats.await?.map_err(|error| problem(&error, None))? {
        Some(stats) => Ok(object([
            ("available", true.into()),
            ("project", project.as_str().into()),
            ("projects", projects.clone().into()),
            ("by", by.into()),
            ("hours", hours.into()),
            ("stats", stats),
        ])),
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

fn nothing() -> Value {
    let reason = "no gateway of this project has recorded anything";
    object([("available", false.into()), ("reason", reason.into())])
}
