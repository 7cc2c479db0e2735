//! `stave cache explain`: where a request parts from an earlier one, and what that cost.

use stave_block::{CacheRules, RequestDifference, TracedRequest, first_difference};
use stave_canon::Value;
use stave_lower::{NoSpanMemory, block_spans, span_id_at};

use super::arguments::ExplainRequest;
use super::trace;
use crate::exit::{Exit, Stop};
use crate::gateway_record::gateway_record;
use crate::terminal;

pub(super) fn explain(arguments: &ExplainRequest) -> Result<Exit, Stop> {
    if let Some(id) = &arguments.record {
        return explain_record(id, arguments);
    }
    let trace = trace::read(&arguments.trace)?;
    let request = arguments.request.unwrap_or(trace.len());
    let later = request.checked_sub(1).and_then(|index| trace.get(index));
    let later = later.ok_or_else(|| Stop::invalid(format!("the trace has no request {request}")))?;
    let against = match arguments.against {
        Some(against) if against >= 1 && against < request => against,
        Some(against) => {
            return Err(Stop::invalid(format!("request {against} is not before request {request}")));
        }
        None => closest(&trace[..request - 1], later)
            .ok_or_else(|| Stop::invalid("no earlier request to compare with"))?,
    };
    let earlier = &trace[against - 1];
    let difference =
        first_difference((&earlier.wire, &earlier.body), (&later.wire, &later.body), &later.tokens);
    let lost = difference.as_ref().map_or(0, |difference| difference.lost_tokens);
    let cost = lost as f64 * saved_by_reading(later);
    let position = difference.as_ref().map(|difference| difference.position);
    let blocks = ChangedBlock {
        before: position.and_then(|position| span(earlier, position)),
        after: position.and_then(|position| span(later, position)),
    };
    if arguments.trace.json {
        terminal::out(&value(request, against, difference.as_ref(), &blocks, cost).to_string());
        return Ok(Exit::Fine);
    }
    terminal::out(&format!("request {request} against request {against}"));
    let Some(difference) = difference else {
        terminal::out("  the earlier request begins with all of it: everything could be read");
        return Ok(Exit::Fine);
    };
    terminal::out(&format!("  common prefix: {} tokens", difference.common_tokens));
    if difference.offset.is_none() {
        terminal::out("  the later request only adds to the earlier one: nothing was lost");
        return Ok(Exit::Fine);
    }
    terminal::out(&format!("  first difference: {}", place(&difference)));
    terminal::out(&format!("  block: {}", blocks.told()));
    terminal::out(&format!("    before: {}", difference.before));
    terminal::out(&format!("    after:  {}", difference.after));
    if let Some((pattern, kind)) = difference.variable {
        terminal::out(&format!("  it is a {kind} ({pattern}), which changes by itself"));
        terminal::out("  help: put it at the end of the last message, or let `--move-volatile` do so");
    }
    terminal::out(&format!("  sent again behind it: {lost} tokens, {cost:.0} at the input price"));
    Ok(Exit::Fine)
}

/// The span ids of the blocks at the first difference.
struct ChangedBlock {
    before: Option<String>,
    after: Option<String>,
}

impl ChangedBlock {
    fn told(&self) -> String {
        let or = |span: &Option<String>| span.clone().unwrap_or_else(|| "none".to_owned());
        match self.before == self.after {
            true => format!("{}, with another content", or(&self.after)),
            false => format!("{}, where {} was before", or(&self.after), or(&self.before)),
        }
    }
}

fn span(traced: &TracedRequest, position: usize) -> Option<String> {
    let spans = block_spans(&traced.body, &traced.wire, &mut NoSpanMemory).ok()?;
    span_id_at(&spans, position).map(|span| span.0)
}

/// What the gateway wrote down about a request: where it parted from the one before it in its conversation.
fn explain_record(id: &str, arguments: &ExplainRequest) -> Result<Exit, Stop> {
    let record = gateway_record(id, arguments.state_dir.as_deref())?;
    let miss = record.miss.as_ref();
    if arguments.trace.json {
        let miss = miss.map(|miss| {
            Value::from_iter([
                ("place", Value::from(miss.place.as_str())),
                ("block", miss.block.clone().into()),
                ("block_before", miss.block_before.clone().into()),
                ("common_tokens", miss.common_tokens.into()),
                ("lost_tokens", miss.lost_tokens.into()),
            ])
        });
        let value = Value::from_iter([
            ("record", Value::from(record.id.as_str())),
            ("time", record.time.to_string().into()),
            ("model", record.model.as_str().into()),
            ("input_tokens", record.input.into()),
            ("cache_read_tokens", record.cache_read.into()),
            ("miss", miss.into()),
        ]);
        terminal::out(&value.to_string());
        return Ok(Exit::Fine);
    }
    terminal::out(&format!("request {} to {} at {}", record.id, record.model, record.time));
    terminal::out(&format!("  read from the cache: {} of {} tokens", record.cache_read, record.input));
    let Some(miss) = miss else {
        terminal::out("  it continues the request before it in its conversation, or is the first one");
        return Ok(Exit::Fine);
    };
    let blocks = ChangedBlock { before: miss.block_before.clone(), after: miss.block.clone() };
    terminal::out(&format!("  common prefix: about {} tokens", miss.common_tokens));
    terminal::out(&format!("  first difference: {}", miss.place));
    terminal::out(&format!("  block: {}", blocks.told()));
    terminal::out(&format!("  sent again behind it: about {} tokens", miss.lost_tokens));
    Ok(Exit::Fine)
}

/// The number of the earlier request that shares the most; the latest of several.
fn closest(earlier: &[TracedRequest], later: &TracedRequest) -> Option<usize> {
    let shared = |traced: &TracedRequest| {
        let pairs = traced.wire.positions.iter().zip(&later.wire.positions);
        pairs.take_while(|(old, new)| old.prefix == new.prefix).count()
    };
    let same_session = |traced: &TracedRequest| traced.session.is_some() && traced.session == later.session;
    let candidates = earlier.iter().enumerate();
    candidates.max_by_key(|(_, traced)| (shared(traced), same_session(traced))).map(|(index, _)| index + 1)
}

/// What reading a token instead of sending it saves, of its price.
fn saved_by_reading(traced: &TracedRequest) -> f64 {
    match CacheRules::of(traced.wire.surface) {
        CacheRules::Marked(rules) => 1.0 - rules.read,
        CacheRules::Automatic(rules) => 1.0 - rules.family(&traced.wire.model).read,
    }
}

fn place(difference: &RequestDifference) -> String {
    let kind = difference.kind.map_or("nothing", stave_block::PositionKind::word);
    let whose = match (difference.message, difference.role) {
        (Some(message), Some(role)) => format!(" of message {message} ({role})"),
        _ => " before the messages".to_owned(),
    };
    let offset = difference.offset.unwrap_or(0);
    format!("position {}, {kind}{whose}, byte {offset} of the body", difference.position)
}

fn value(
    request: usize,
    against: usize,
    difference: Option<&RequestDifference>,
    blocks: &ChangedBlock,
    cost: f64,
) -> Value {
    let difference = difference.map(|difference| {
        Value::from_iter([
            ("position", Value::from(difference.position)),
            ("kind", difference.kind.map(|kind| kind.word().to_owned()).into()),
            ("role", difference.role.map(|role| role.word().to_owned()).into()),
            ("message", difference.message.map(i64::from).into()),
            ("block", blocks.after.clone().into()),
            ("block_before", blocks.before.clone().into()),
            ("offset", difference.offset.map(|offset| offset as i64).into()),
            ("before", difference.before.as_str().into()),
            ("after", difference.after.as_str().into()),
            ("variable", difference.variable.map(|(pattern, _)| pattern.to_owned()).into()),
            ("common_tokens", difference.common_tokens.into()),
            ("lost_tokens", difference.lost_tokens.into()),
        ])
    });
    Value::from_iter([
        ("request", Value::from(request)),
        ("against", against.into()),
        ("difference", difference.into()),
        ("cost", cost.into()),
    ])
}
