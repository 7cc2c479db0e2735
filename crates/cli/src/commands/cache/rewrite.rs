//! `stave cache rewrite`: a trace as the gateway would send it, one line out for each line in.

use stave_block::{Counters, PlanRequest, Planner};
use stave_canon::Value;
use stave_lower::{RewritePolicy, rewrite_body, splice_plan};

use super::arguments::Rewrite;
use super::state::State;
use super::trace::{Line, Lines, wire};
use crate::exit::{Exit, Stop};
use crate::terminal;

pub(super) fn rewrite(arguments: &Rewrite) -> Result<Exit, Stop> {
    let mut state = State::open(arguments.state.as_deref())?;
    for line in Lines::open(arguments.trace.as_deref())? {
        let line = match line {
            Ok(line) => line,
            Err(stop) => {
                // What was printed was learned from, and the next run goes on from there.
                state.keep()?;
                return Err(stop);
            }
        };
        let body = planned(&line, arguments, state.planner(line.time)?);
        let session = Value::from(line.session);
        terminal::out(&format!("{{\"t\":{},\"session\":{session},\"body\":{body}}}", line.time_text));
    }
    state.keep()?;
    Ok(Exit::Fine)
}

/// The body as it should be sent. A body that cannot be read as a request is sent unchanged.
fn planned(line: &Line, arguments: &Rewrite, planner: &mut Planner) -> String {
    let Some(mut prompt) = wire(&line.body, Some(arguments.provider)) else { return line.body.clone() };
    let mut body = line.body.clone();
    let policy = RewritePolicy { move_volatile: arguments.move_volatile, order_tools: arguments.order_tools };
    if policy != RewritePolicy::default() {
        let rewritten = rewrite_body(&body, &prompt, policy).body;
        if let Some(again) = wire(&rewritten, Some(arguments.provider)) {
            (body, prompt) = (rewritten, again);
        }
    }
    let request =
        PlanRequest { wire: &prompt, body: &body, session: line.session.as_deref(), now: line.time };
    let plan = planner.plan(&request);
    if let Some(counters) = line.usage.as_ref().and_then(counters) {
        planner.learn(&plan, counters, line.time);
    }
    splice_plan(&body, &prompt, &plan).body
}

/// The counters of a response in either provider's words.
fn counters(usage: &Value) -> Option<Counters> {
    let count =
        |key: &str| usage.get(key).and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
    if let Some(uncached) = count("input_tokens") {
        let read = count("cache_read_input_tokens").unwrap_or(0);
        let written = count("cache_creation_input_tokens").unwrap_or(0);
        return Some(Counters { input: uncached + read + written, read, written });
    }
    let details = usage.get("prompt_tokens_details");
    let read = details.and_then(|details| details.get("cached_tokens")).and_then(Value::as_i64);
    let read = read.and_then(|read| u64::try_from(read).ok()).unwrap_or(0);
    Some(Counters { input: count("prompt_tokens")?, read, written: 0 })
}
