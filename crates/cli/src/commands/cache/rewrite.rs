//! `stave cache rewrite`: a trace as the gateway would send it, one line out for each line in.

use stave_block::{Counters, Planner};
use stave_canon::Value;
use stave_lower::RewritePolicy;
use stave_request::{BodyToPlan, plan_body};

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
                // What was printed was learned from, and the next run continues from there.
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

/// The body as the gateway would send it. A body that cannot be read as a request is sent unchanged.
fn planned(line: &Line, arguments: &Rewrite, planner: &mut Planner) -> String {
    let Some(wire) = wire(&line.body, Some(arguments.provider)) else { return line.body.clone() };
    let request = BodyToPlan {
        body: &line.body,
        wire: &wire,
        session: line.session.as_deref(),
        rewrites: RewritePolicy {
            move_volatile: arguments.move_volatile,
            order_tools: arguments.order_tools,
        },
        now: line.time,
    };
    let Ok(planned) = plan_body(&request, |request| Ok(planner.plan(request))) else {
        return line.body.clone();
    };
    if let (Some(plan), Some(counters)) = (&planned.plan, line.usage.as_ref().and_then(counters)) {
        planner.learn(plan, counters, line.time);
    }
    planned.text(&line.body)
}

/// The counters of a response in its provider's words. Anthropic counts cached tokens apart from `input_tokens`; OpenAI's
/// two interfaces count them in.
fn counters(usage: &Value) -> Option<Counters> {
    let count = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok())
    };
    for (input, details) in
        [("prompt_tokens", "prompt_tokens_details"), ("input_tokens", "input_tokens_details")]
    {
        let Some(details) = usage.get(details) else { continue };
        let input = count(usage, input)?;
        let read = count(details, "cached_tokens").unwrap_or(0).min(input);
        let written = count(details, "cache_write_tokens").unwrap_or(0).min(input - read);
        return Some(Counters { input, read, written });
    }
    if let Some(uncached) = count(usage, "input_tokens") {
        let read = count(usage, "cache_read_input_tokens").unwrap_or(0);
        let written = count(usage, "cache_creation_input_tokens").unwrap_or(0);
        let input = uncached.saturating_add(read).saturating_add(written);
        return Some(Counters { input, read, written });
    }
    Some(Counters { input: count(usage, "prompt_tokens")?, read: 0, written: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_read_in_the_words_of_each_interface() {
        let read = |usage: &str| counters(&stave_canon::parse(usage).unwrap()).unwrap();
        let wanted = Counters { input: 5000, read: 4000, written: 0 };
        let chat = r#"{"prompt_tokens":5000,"prompt_tokens_details":{"cached_tokens":4000}}"#;
        let responses = r#"{"input_tokens":5000,"input_tokens_details":{"cached_tokens":4000}}"#;
        let anthropic = r#"{"input_tokens":1000,"cache_read_input_tokens":4000}"#;
        for usage in [chat, responses, anthropic] {
            assert_eq!(read(usage), wanted, "{usage}");
        }
        let written = r#"{"input_tokens":5000,"input_tokens_details":{"cached_tokens":1000,"cache_write_tokens":3000}}"#;
        assert_eq!(read(written), Counters { input: 5000, read: 1000, written: 3000 });
    }
}
