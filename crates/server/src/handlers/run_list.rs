//! Runs in a list, a page at a time.
//!
//! Invariant: an answer has a bounded number of runs. A cursor is a place in the order of all runs, the newest first, so
//! runs that begin or are removed between two pages neither repeat others nor hide them.

use hyper::StatusCode;
use stave_canon::Timestamp;
use stave_runtime::journal::{RunFilter, RunStatus, RunSummary};

use super::Call;
use super::runs::only_parameters;
use crate::api::{RunPage, RunRow};
use crate::message::{Reply, typed};
use crate::problem::Problem;

/// How many runs a page has when the request does not say, and at most.
const PAGE: usize = 100;
const MOST: usize = 1000;

pub(super) async fn list(call: &Call<'_>) -> Result<Reply, Problem> {
    only_parameters(call)?;
    let limit = match call.parameter("limit") {
        None => PAGE,
        Some(text) => text
            .parse::<usize>()
            .ok()
            .filter(|limit| (1..=MOST).contains(limit))
            .ok_or_else(|| Problem::bad_request(format!("`limit` must be a number from 1 to {MOST}")))?,
    };
    let after = call.parameter("cursor").map(place_of).transpose()?;
    let status = call.parameter("status").map(status_of).transpose()?;
    let catalog = call.shared.catalog();
    let mut runs: Vec<RunSummary> = Vec::new();
    for flow in listed_flows(call) {
        // One more shows whether there is a further page.
        let filter =
            RunFilter { flow, status, limit: Some(limit + 1), after: after.clone(), ..RunFilter::default() };
        for archive in catalog.archives(&call.principal) {
            runs.extend(archive.runs.list(filter.clone()).await.map_err(|error| Problem::journal(&error))?);
        }
    }
    // What a store lists is looked at again: no principal sees a flow that is not theirs.
    runs.retain(|run| call.principal.flows().is_none_or(|flows| flows.contains(&run.flow)));
    runs.sort_by(|one, other| (other.started_at, &other.id).cmp(&(one.started_at, &one.id)));
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let next = runs.last().filter(|_| has_more).map(RunSummary::cursor);
    let page = RunPage { runs: runs.into_iter().map(row).collect(), next: next.into() };
    Ok(typed(StatusCode::OK, &page))
}

/// The place that a cursor of an earlier page names.
fn place_of(cursor: &str) -> Result<(Timestamp, String), Problem> {
    RunFilter::place_of(cursor)
        .ok_or_else(|| Problem::bad_request("`cursor` must be the `next` of an earlier page"))
}

/// The flows whose runs are asked for, one by one for a key that is for some flows: the limit counts what is seen.
fn listed_flows(call: &Call<'_>) -> Vec<Option<String>> {
    let wanted = call.parameter("flow");
    match (call.principal.flows(), wanted) {
        (None, wanted) => vec![wanted.map(str::to_owned)],
        (Some(flows), Some(wanted)) => flows.get(wanted).cloned().map(Some).into_iter().collect(),
        (Some(flows), None) => flows.iter().cloned().map(Some).collect(),
    }
}

fn status_of(text: &str) -> Result<RunStatus, Problem> {
    RunStatus::from_word(text).ok_or_else(|| {
        let words: Vec<&str> = RunStatus::ALL.iter().map(|status| status.word()).collect();
        Problem::bad_request(format!("`status` must be one of {}", words.join(", ")))
    })
}

fn row(run: RunSummary) -> RunRow {
    RunRow {
        run_id: run.id,
        flow: run.flow,
        status: run.status,
        started_at: run.started_at.to_string(),
        ended_at: run.ended_at.map(|at| at.to_string()).into(),
        steps: run.steps,
        replay_of: run.replay_of.into(),
        crashes: run.crashes,
    }
}
